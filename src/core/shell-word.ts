/** A word of a command line that people copy: as it stands where a POSIX shell reads it as one, in quotes otherwise. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
