/** The file that holds everything. */
export const singleFileName = "leyden.html";
