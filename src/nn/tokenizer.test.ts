import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CorruptFileError, InputError } from "../core/index.js";
import { END_OF_TEXT, Tokenizer } from "./tokenizer.js";

interface Recorded {
  words: string[];
  size: number;
  eos: number;
  cases: { text: string; ids: number[] }[];
}

const fixtures = fileURLToPath(new URL("./fixtures", import.meta.url));
const recorded: Recorded = JSON.parse(await readFile(join(fixtures, "tokenizer/ids.json"), "utf8"));
const tokenizer = Tokenizer.create(recorded.words);
const words = (text: string) => [...tokenizer.encode(text)].map((id) => tokenizer.decode([id]));

describe("against AutoTokenizer", () => {
  it("gives the same ids for every recorded text, and the texts back", () => {
    expect(recorded.cases.length).toBeGreaterThan(180);
    expect(recorded.cases.filter(({ ids }) => ids.some((id) => id > 256)).length).toBeGreaterThan(100);
    for (const { text, ids } of recorded.cases) {
      expect([...tokenizer.encode(text)], JSON.stringify(text)).toEqual(ids);
      expect(tokenizer.decode(ids)).toBe(text);
    }
  });

  it("has the same size and end token", () => {
    expect(tokenizer.size).toBe(recorded.size);
    expect(tokenizer.eosId).toBe(recorded.eos);
  });

  it.each(["tokenizer", "saved-by-transformers"])("reads the folder %s to the same tokenizer", async (folder) => {
    const loaded = await Tokenizer.load(join(fixtures, folder));
    expect(loaded.size).toBe(recorded.size);
    for (const { text, ids } of recorded.cases) expect([...loaded.encode(text)]).toEqual(ids);
  });
});

describe("encoding", () => {
  const piece = fc.oneof(
    fc.constantFrom(...recorded.words, END_OF_TEXT, "<cell:", "日", "\ufeff"),
    fc.string({ unit: "grapheme", maxLength: 8 }),
  );
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

  it("is undone by decoding, whatever the text", () => {
    fc.assert(
      fc.property(text, (t) => {
        expect(tokenizer.decode(tokenizer.encode(t))).toBe(t);
      }),
      { numRuns: 500 },
    );
  });

  it("of any bytes decodes, also where they are no UTF-8", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
        expect(tokenizer.decode(bytes)).toBe(Buffer.from(bytes).toString("utf8"));
      }),
    );
  });

  it("gives unpaired surrogates as U+FFFD, and leaves paired ones and their neighbours alone", () => {
    expect(tokenizer.decode(tokenizer.encode("a\ud83dx<sep>\udc00🙃\ud83d"))).toBe("a\ufffdx<sep>\ufffd🙃\ufffd");
    // A half of a word's first character is not that word.
    expect(words("\ud83d").join("")).toBe("\ufffd\ufffd\ufffd");
  });

  it("takes the leftmost word, and the longest of those that start there", () => {
    expect(words("<hole:0,10><hole:0,1>")).toEqual(["<hole:0,10>", "<hole:0,1>"]);
    expect(words("abcd")).toEqual(["abc", "d"]);
    expect(words("abbcd")).toEqual(["ab", "bcd"]);
    expect(words("🙂🙃🙂")).toEqual(["🙂🙃", "🙂"]);
    expect(words("<cell:1,1 <<<")).toEqual([..."<cell:1,1 ", "<<", "<"]);
  });

  it("makes a word the same token wherever it stands", () => {
    const id = tokenizer.wordId("<sep>");
    for (const t of ["<sep>", "x<sep>y", " <sep> ", "<sep><sep>", "日<sep>"]) expect([...tokenizer.encode(t)]).toContain(id);
  });

  it("of the end token can be left out when decoding; ids outside are refused", () => {
    expect(tokenizer.decode([97, tokenizer.eosId, 98])).toBe(`a${END_OF_TEXT}b`);
    expect(tokenizer.decode([97, tokenizer.eosId, 98], { skipSpecial: true })).toBe("ab");
    for (const id of [-1, tokenizer.size]) expect(() => tokenizer.decode([id])).toThrow(InputError);
    expect(() => tokenizer.wordId("<nothing>")).toThrow(InputError);
  });
});

describe("a vocabulary", () => {
  it.each([
    ["an empty word", ["<a>", ""]],
    ["a word twice", ["<a>", "<b>", "<a>"]],
    ["the end token as a word", [END_OF_TEXT]],
    ["half of a character", ["\ud83d"]],
    ["the symbol of a byte, which other readers would give the byte's id", ["<"]],
    ["symbols of bytes, which other readers would decode as bytes", ["éé"]],
  ])("refuses %s", (_, list) => {
    expect(() => Tokenizer.create(list)).toThrow(InputError);
  });
});

describe("on disk", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tokenizer-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("is what the recorded folder holds, byte for byte, and loads to the same words", async () => {
    await tokenizer.save(folder);
    for (const name of ["tokenizer.json", "tokenizer_config.json"]) {
      expect(await readFile(join(folder, name), "utf8")).toBe(await readFile(join(fixtures, "tokenizer", name), "utf8"));
    }
    const loaded = await Tokenizer.load(folder);
    for (const word of recorded.words) expect(loaded.wordId(word)).toBe(tokenizer.wordId(word));
    expect(loaded.eosId).toBe(tokenizer.eosId);
  });

  interface Saved {
    normalizer: unknown;
    model: { merges: unknown[]; vocab: Record<string, number> };
    added_tokens: { id: number; content: string; lstrip: boolean }[];
  }
  it.each<[string, (saved: Saved) => void]>([
    ["with merges", (s) => s.model.merges.push(["a", "b"])],
    ["with a normaliser", (s) => Object.assign(s, { normalizer: { type: "NFC" } })],
    ["whose bytes have other ids", (s) => Object.assign(s.model.vocab, { a: 98, b: 97 })],
    ["with more base tokens", (s) => Object.assign(s.model.vocab, { ab: 256 })],
    ["with a gap in the ids of its words", (s) => s.added_tokens.splice(3, 1)],
    ["with a word twice", (s) => Object.assign(s.added_tokens[3]!, { content: s.added_tokens[4]!.content })],
    ["without an end token", (s) => Object.assign(s.added_tokens[0]!, { content: "<|other|>" })],
    ["whose words swallow blanks", (s) => Object.assign(s.added_tokens[2]!, { lstrip: true })],
  ])("a tokenizer %s is refused with a remedy", async (_, change) => {
    const saved: Saved = JSON.parse(await readFile(join(fixtures, "tokenizer/tokenizer.json"), "utf8"));
    change(saved);
    const other = join(folder, "other");
    await mkdir(other, { recursive: true });
    await writeFile(join(other, "tokenizer.json"), JSON.stringify(saved));
    const error = await Tokenizer.load(other).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CorruptFileError);
    expect((error as CorruptFileError).message).toContain("tokenizer.json");
    expect((error as CorruptFileError).remedy).toBeTruthy();
  });

  it("a missing or broken file is refused with its path", async () => {
    await expect(Tokenizer.load(join(folder, "nowhere"))).rejects.toThrow(/nowhere.*tokenizer\.json/);
    await writeFile(join(folder, "tokenizer.json"), '{"model":');
    await expect(Tokenizer.load(folder)).rejects.toThrow(CorruptFileError);
  });
});
