/**
 * Finds the complete JSON objects in a model's text, in one pass. Prose, fences and stray braces around them are skipped; what stands
 * inside an object that breaks is not promoted to an answer. Refuses keys given twice, since JSON.parse would silently take the last.
 *
 * Linear in the text: after a break the search goes on behind the opening quote of the last string, and no quote is the last string's
 * twice.
 */
const DEPTH_LIMIT = 64;

export interface FoundObject {
  value: Record<string, unknown>;
  /** Index in the text behind it. */
  end: number;
  /** A key that an object inside gives twice. */
  duplicateKey: string | undefined;
}

export interface ObjectScan {
  objects: FoundObject[];
  /** Objects that were begun and are no JSON, in order. A brace in prose begins none; one with something quoted behind it does. */
  broken: BrokenObject[];
}

export interface BrokenObject {
  /** Index in the text where it broke, and why. */
  at: number;
  problem: string;
  /** Keys of the object itself up to there, not of those inside. */
  keys: ReadonlySet<string>;
}

export function scanObjects(text: string): ObjectScan {
  const objects: FoundObject[] = [];
  const broken: BrokenObject[] = [];
  let at = text.indexOf("{");
  while (at >= 0) {
    const reading = new ObjectReading(text, at);
    const complete = reading.read();
    const { at: end, problem, duplicateKey } = reading;
    if (complete && problem === "") {
      objects.push({ value: JSON.parse(text.slice(at, end)) as Record<string, unknown>, end, duplicateKey });
    } else if (reading.lastString >= 0) {
      broken.push({ at: end, problem, keys: reading.outerKeys });
    }
    if (reading.tooDeep) break;
    at = text.indexOf("{", complete ? end : Math.max(at, reading.lastString) + 1);
  }
  return { objects, broken };
}

type Expectation = "value" | "value-or-end" | "key" | "key-or-end" | "colon" | "comma-or-end";

/** One strict reading of a JSON object that begins at `at`, without recursion. */
class ObjectReading {
  /** The index behind the object, or where it broke. */
  at: number;
  /** Opening quote of the last string read, or -1. */
  lastString = -1;
  /** Why it is not JSON. A complete object can have one too: a raw line break in a string, past which its end is still plain. */
  problem = "";
  duplicateKey: string | undefined;
  tooDeep = false;
  readonly outerKeys = new Set<string>();
  private readonly open: ("{" | "[")[] = [];
  private readonly keys: Set<string>[] = [];

  constructor(
    private readonly text: string,
    start: number,
  ) {
    this.at = start;
  }

  read(): boolean {
    let expect: Expectation = "value";
    while (true) {
      this.skipSpace();
      const c = this.text[this.at];
      if (c === undefined) return this.fail("the text ends inside an object");
      const inObject = this.open.at(-1) === "{";
      if (
        (c === "}" && inObject && (expect === "key-or-end" || expect === "comma-or-end")) ||
        (c === "]" && !inObject && (expect === "value-or-end" || expect === "comma-or-end"))
      ) {
        this.at++;
        if (this.open.pop() === "{") this.keys.pop();
        if (this.open.length === 0) return true;
        expect = "comma-or-end";
      } else if (expect === "comma-or-end") {
        if (c !== ",") return this.unexpected("a comma or a closing bracket");
        this.at++;
        expect = inObject ? "key" : "value";
      } else if (expect === "colon") {
        if (c !== ":") return this.unexpected("a colon");
        this.at++;
        expect = "value";
      } else if (expect === "key" || expect === "key-or-end") {
        if (c !== '"') return this.unexpected("a key in double quotes");
        const start = this.at;
        if (!this.readString()) return false;
        if (this.problem === "") this.noteKey(JSON.parse(this.text.slice(start, this.at)) as string);
        expect = "colon";
      } else if (c === "{" || c === "[") {
        if (this.open.length >= DEPTH_LIMIT) {
          this.tooDeep = true;
          return this.fail(`objects nested deeper than ${DEPTH_LIMIT}`);
        }
        this.at++;
        this.open.push(c);
        if (c === "{") this.keys.push(this.open.length === 1 ? this.outerKeys : new Set());
        expect = c === "{" ? "key-or-end" : "value-or-end";
      } else if (c === '"') {
        if (!this.readString()) return false;
        expect = "comma-or-end";
      } else {
        if (!this.readScalar()) return this.unexpected("a value");
        expect = "comma-or-end";
      }
    }
  }

  private noteKey(key: string): void {
    const keys = this.keys.at(-1)!;
    if (keys.has(key)) this.duplicateKey ??= key;
    keys.add(key);
  }

  private skipSpace(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at++;
  }

  private readString(): boolean {
    this.lastString = this.at;
    for (let i = this.at + 1; i < this.text.length; i++) {
      const c = this.text.charCodeAt(i);
      if (c === 0x22) {
        this.at = i + 1;
        return true;
      }
      if (c < 0x20) this.problem = "a string with a raw line break or control character";
      if (c !== 0x5c) continue;
      const escaped = ESCAPE.exec(this.text.slice(i, i + 6));
      if (escaped === null) return this.fail("a string with an unknown escape");
      i += escaped[0].length - 1;
    }
    return this.fail("the text ends inside a string");
  }

  private readScalar(): boolean {
    SCALAR.lastIndex = this.at;
    const match = SCALAR.exec(this.text);
    if (match === null) return false;
    this.at += match[0].length;
    return true;
  }

  private unexpected(expected: string): boolean {
    return this.fail(`${JSON.stringify(this.text.slice(this.at, this.at + 12))} where ${expected} was expected`);
  }

  private fail(problem: string): boolean {
    this.problem = problem;
    return false;
  }
}

const ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
