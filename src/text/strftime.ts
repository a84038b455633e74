const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;
const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;

/**
 * A date in UTC with English names, in the format of C's strftime. Directives that are not listed here stay as they
 * are written.
 */
export function strftime(date: Date, format: string): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const hour12 = date.getUTCHours() % 12 || 12;
  const month = months[date.getUTCMonth()] as string;
  const day = days[date.getUTCDay()] as string;
  const values: Record<string, string> = {
    Y: String(date.getUTCFullYear()),
    y: two(date.getUTCFullYear() % 100),
    m: two(date.getUTCMonth() + 1),
    B: month,
    b: month.slice(0, 3),
    d: two(date.getUTCDate()),
    e: String(date.getUTCDate()).padStart(2, " "),
    A: day,
    a: day.slice(0, 3),
    H: two(date.getUTCHours()),
    I: two(hour12),
    p: date.getUTCHours() < 12 ? "AM" : "PM",
    M: two(date.getUTCMinutes()),
    S: two(date.getUTCSeconds()),
    F: date.toISOString().slice(0, 10),
    "%": "%",
  };
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, unpadded: string, key: string) => {
    const value = values[key];
    if (value === undefined) return whole;
    return unpadded ? value.replace(/^[0 ](?=\d)/, "") : value;
  });
}
