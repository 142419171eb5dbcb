/**
 * Column types of Parquet from a record's schema, and values back from what DuckDB returns. Objects become STRUCT, arrays and tuples LIST,
 * records of scalars MAP; what has no fixed shape (unknown, mixed unions, loose objects) is JSON text. A missing optional field is NULL.
 */
import { DuckDBListType, DuckDBMapType, DuckDBStructType, type DuckDBType } from "@duckdb/node-api";
import { z } from "zod";

/** Column name → SQL type, in the order of the schema. @throws {TypeError} for a schema that is no object. */
export function columnTypes(schema: z.ZodType): Map<string, string> {
  const object = bare(schema);
  if (!(object instanceof z.ZodObject)) throw new TypeError("only records (z.object) are stored as Parquet");
  return new Map(Object.entries(object.shape as Record<string, z.ZodType>).map(([name, field]) => [name, sqlType(field)]));
}

function sqlType(schema: z.ZodType): string {
  const type = bare(schema);
  if (type instanceof z.ZodString || type instanceof z.ZodStringFormat || type instanceof z.ZodEnum) return "VARCHAR";
  if (type instanceof z.ZodBoolean) return "BOOLEAN";
  if (type instanceof z.ZodNumber) return type.format === "safeint" ? "BIGINT" : "DOUBLE";
  if (type instanceof z.ZodArray) return `${sqlType(type.element as z.ZodType)}[]`;
  if (type instanceof z.ZodTuple) return `${common((type.def.items as z.ZodType[]).map(sqlType))}[]`;
  if (type instanceof z.ZodUnion) return common((type.options as z.ZodType[]).map(sqlType));
  if (type instanceof z.ZodLiteral) return common([...type.values].map(literalType));
  if (type instanceof z.ZodRecord) {
    const value = sqlType(type.valueType as z.ZodType);
    return /^[A-Z]+$/.test(value) && value !== "JSON" ? `MAP(VARCHAR, ${value})` : "JSON";
  }
  if (type instanceof z.ZodObject && type.def.catchall === undefined) return structType(type);
  if (type instanceof z.ZodObject && type.def.catchall instanceof z.ZodNever) return structType(type);
  return "JSON";
}

function structType(type: z.ZodObject): string {
  const fields = Object.entries(type.shape as Record<string, z.ZodType>).map(([name, field]) => `${quoteName(name)} ${sqlType(field)}`);
  return fields.length === 0 ? "JSON" : `STRUCT(${fields.join(", ")})`;
}

/** The schema under optional, nullable, default and readonly wrappers. */
function bare(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly
  )
    return bare(schema.unwrap() as z.ZodType);
  return schema;
}

function literalType(value: unknown): string {
  if (typeof value === "string") return "VARCHAR";
  if (typeof value === "boolean") return "BOOLEAN";
  if (typeof value === "number") return Number.isInteger(value) ? "BIGINT" : "DOUBLE";
  return "JSON";
}

function common(types: readonly string[]): string {
  return types.length > 0 && types.every((t) => t === types[0]) ? types[0]! : "JSON";
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A value as DuckDB's JavaScript conversion gives it → the value of the record; undefined for NULL. */
export function recordValue(value: unknown, type: DuckDBType): unknown {
  if (value === null || value === undefined) return undefined;
  if (type.alias === "JSON") return JSON.parse(value as string);
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (type instanceof DuckDBListType) return (value as unknown[]).map((item) => recordValue(item, type.valueType) ?? null);
  if (type instanceof DuckDBMapType) {
    const entries = value as { key: unknown; value: unknown }[];
    return Object.fromEntries(entries.map((e) => [String(recordValue(e.key, type.keyType)), recordValue(e.value, type.valueType)]));
  }
  if (type instanceof DuckDBStructType) return recordOf(value as Record<string, unknown>, type.entryNames, type.entryTypes);
  return value;
}

export function recordOf(row: Record<string, unknown>, names: readonly string[], types: readonly DuckDBType[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  names.forEach((name, i) => {
    const value = recordValue(row[name], types[i]!);
    if (value !== undefined) record[name] = value;
  });
  return record;
}
