/** What a verb opens is closed in one place, whatever happens. */
interface Closable {
  close(): unknown;
}

/**
 * Runs a task and closes what it has opened by then, the last first, each whatever becomes of the others; also when the task fails.
 * @throws what the task throws, or else the first failure to close something
 */
export async function closingAfter<T>(task: (opened: <C extends Closable>(one: C) => C) => Promise<T>): Promise<T> {
  const open: Closable[] = [];
  const closeAll = async (): Promise<unknown[]> => {
    const failures: unknown[] = [];
    for (const one of open.reverse()) {
      try {
        await one.close();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  };
  let result: T;
  try {
    result = await task((one) => {
      open.push(one);
      return one;
    });
  } catch (error) {
    await closeAll();
    throw error;
  }
  const failures = await closeAll();
  if (failures.length > 0) throw failures[0];
  return result;
}
