export * from "./checksum.js";
export * from "./files.js";
export * from "./json-lines.js";
export { lockHolder } from "./lock.js";
export * from "./parquet.js";
export * from "./rows.js";
export * from "./run-folder.js";
export * from "./storage-failure.js";
export * from "./versions.js";
