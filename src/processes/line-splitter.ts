/** The output of a process, line by line. */
const LINE_END = /\r\n|[\r\n]/;

/** Text that comes in pieces → its lines. Of a line no more than its beginning is kept, however long it goes on without an end. */
export class LineSplitter {
  private line = "";
  private isAfterReturn = false;

  /** @param longest characters of a line. */
  constructor(private readonly longest: number) {}

  /** The lines that this piece ends: at \n, \r or \r\n. */
  push(piece: string): string[] {
    if (piece === "") return [];
    // A \r\n may be torn between two pieces.
    const text = this.isAfterReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
    this.isAfterReturn = piece.endsWith("\r");
    const ended: string[] = [];
    text.split(LINE_END).forEach((part, index) => {
      if (index > 0) ended.push(this.take());
      this.line += part.slice(0, this.longest - this.line.length);
    });
    return ended;
  }

  /** What has come since the last line's end. */
  take(): string {
    const { line } = this;
    this.line = "";
    return line;
  }
}
