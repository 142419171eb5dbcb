/** A private DuckDB for one task: in memory, one thread (so that the order of rows and the bytes repeat), no extension ever downloaded. */
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

const OPTIONS = {
  threads: "1",
  preserve_insertion_order: "true",
  memory_limit: "1GB",
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
};

/**
 * Where a database puts what does not fit into its memory. A folder for each: two that share one, in whatever processes, write over each
 * other's files. DuckDB makes it when it is needed and removes it when the database is closed.
 */
export function spillFolder(): string {
  return join(tmpdir(), `envwright-duckdb-${randomUUID()}`);
}

export async function withDuckDB<R>(task: (connection: DuckDBConnection) => Promise<R>): Promise<R> {
  const duckdb = await openDuckDB();
  try {
    return await task(duckdb.connection);
  } finally {
    duckdb.close();
  }
}

export async function openDuckDB(): Promise<{ connection: DuckDBConnection; close: () => void }> {
  const instance = await DuckDBInstance.create(":memory:", { ...OPTIONS, temp_directory: spillFolder() });
  const connection = await instance.connect();
  return {
    connection,
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
