/** Id of the studio's element that a way to skip to its content leads to; whoever has the page has that way. */
export const contentId = "st-content";
