/** One task after the other: ten open pages use the memory and the cores of one. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs when those before it have ended, however they ended. */
  take<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task);
    this.last = result.catch(() => {});
    return result;
  }

  /** When all that were taken so far have ended. */
  async rest(): Promise<void> {
    await this.last;
  }
}
