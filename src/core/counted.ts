/** A number of things in words: "1 board", "2 boards". @param one as it is called when it is one; the plural ends in s */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}
