/** Whole lines of a file that another process appends to, as they come. A line that is not finished is kept until it is. */
import { open } from "node:fs/promises";

export class LineFollower {
  private offset = 0;
  private rest = Buffer.alloc(0);
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly path: string) {}

  /** The lines finished since the last call; none while the file does not exist. Calls that overlap are answered one after the other. */
  next(): Promise<string[]> {
    const lines = this.last.then(() => this.read());
    this.last = lines.catch(() => {});
    return lines;
  }

  private async read(): Promise<string[]> {
    const file = await open(this.path, "r").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (file === undefined) return [];
    try {
      const { size } = await file.stat();
      if (size <= this.offset) return [];
      const fresh = Buffer.alloc(size - this.offset);
      const { bytesRead } = await file.read(fresh, 0, fresh.length, this.offset);
      this.offset += bytesRead;
      const all = Buffer.concat([this.rest, fresh.subarray(0, bytesRead)]);
      const end = all.lastIndexOf(10) + 1;
      this.rest = Buffer.from(all.subarray(end));
      return all
        .subarray(0, end)
        .toString("utf8")
        .split("\n")
        .filter((line) => line.trim() !== "");
    } finally {
      await file.close();
    }
  }
}
