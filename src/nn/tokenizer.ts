/**
 * Byte-level tokenizer with a closed vocabulary of words on top: 256 byte tokens, `<|endoftext|>` (end and padding), then the words of the
 * compact language as added tokens. Any text can be encoded; a word is one token wherever it stands.
 *
 * On disk it is a byte-level BPE without merges in the Hugging Face format, so that `AutoTokenizer` gives the same ids. Unpaired
 * surrogates are no Unicode text and become U+FFFD, as they do in every UTF-8 encoder.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CorruptFileError, InputError, parseJsonWith } from "../core/index.js";

export const END_OF_TEXT = "<|endoftext|>";
const BYTES = 256;
/** The pre-tokenizer's pattern of Qwen2; without merges it splits nothing that matters, but readers expect it. */
const QWEN2_SPLIT =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const fileSchema = z.object({
  normalizer: z.null(),
  model: z.object({ type: z.literal("BPE"), vocab: z.record(z.string(), z.int()), merges: z.array(z.unknown()) }),
  added_tokens: z.array(
    z.object({
      id: z.int(),
      content: z.string(),
      single_word: z.literal(false),
      lstrip: z.literal(false),
      rstrip: z.literal(false),
    }),
  ),
});

/** Trie over UTF-16 code units: the longest word at a position wins, as in Hugging Face's added-token matcher. */
interface TrieNode {
  next: Map<number, TrieNode>;
  token: number;
}

export class Tokenizer {
  private readonly trie: TrieNode = { next: new Map(), token: -1 };
  private readonly ids = new Map<string, number>();
  private readonly utf8 = new TextEncoder();
  /** Keeps a leading U+FEFF: it is a character like any other here. */
  private readonly text = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly eosId: number;

  /** @param added the added tokens in the order of their ids, `<|endoftext|>` among them. @throws {InputError} unusable words. */
  private constructor(private readonly added: readonly string[]) {
    added.forEach((word, i) => {
      const problem = problemOf(word) ?? (this.ids.has(word) ? "stands twice in the vocabulary" : undefined);
      if (problem !== undefined) {
        throw new InputError({
          message: `the word ${JSON.stringify(word)} ${problem}`,
          value: word,
          expected: "distinct words of Unicode text",
        });
      }
      this.ids.set(word, BYTES + i);
      let node = this.trie;
      for (let c = 0; c < word.length; c++) {
        const code = word.charCodeAt(c);
        let child = node.next.get(code);
        if (child === undefined) {
          child = { next: new Map(), token: -1 };
          node.next.set(code, child);
        }
        node = child;
      }
      node.token = BYTES + i;
    });
    const eos = this.ids.get(END_OF_TEXT);
    if (eos === undefined) throw new InputError({ message: `the vocabulary has no ${END_OF_TEXT}`, expected: END_OF_TEXT });
    this.eosId = eos;
  }

  static create(words: readonly string[]): Tokenizer {
    return new Tokenizer([END_OF_TEXT, ...words]);
  }

  /** Number of token ids: 256 bytes and the added tokens. */
  get size(): number {
    return BYTES + this.added.length;
  }

  has(word: string): boolean {
    return this.ids.has(word);
  }

  /** @throws {InputError} for a word that is not in the vocabulary. */
  wordId(word: string): number {
    const id = this.ids.get(word);
    if (id !== undefined) return id;
    throw new InputError({
      message: `"${word}" is not a word of this tokenizer`,
      value: word,
      expected: `one of ${this.added.length} words`,
      remedy: "use the checkpoint whose base was trained on this family's vocabulary",
    });
  }

  encode(text: string): Int32Array {
    const out: number[] = [];
    let plain = 0;
    let i = 0;
    while (i < text.length) {
      let node: TrieNode | undefined = this.trie;
      let token = -1;
      let end = i;
      for (let j = i; j < text.length; j++) {
        node = node.next.get(text.charCodeAt(j));
        if (node === undefined) break;
        if (node.token >= 0) {
          token = node.token;
          end = j + 1;
        }
      }
      if (token < 0) {
        i += 1;
        continue;
      }
      if (plain < i) this.pushBytes(text.slice(plain, i), out);
      out.push(token);
      i = end;
      plain = end;
    }
    if (plain < text.length) this.pushBytes(text.slice(plain), out);
    return Int32Array.from(out);
  }

  private pushBytes(text: string, out: number[]): void {
    for (const byte of this.utf8.encode(text)) out.push(byte);
  }

  /** Bytes that are no valid UTF-8 decode to U+FFFD. Ids outside of the vocabulary are refused. */
  decode(tokens: ArrayLike<number>, options: { skipSpecial?: boolean } = {}): string {
    const parts: string[] = [];
    let bytes: number[] = [];
    const flush = () => {
      if (bytes.length > 0) parts.push(this.text.decode(Uint8Array.from(bytes)));
      bytes = [];
    };
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i]!;
      if (token >= 0 && token < BYTES) {
        bytes.push(token);
        continue;
      }
      const word = this.added[token - BYTES];
      if (word === undefined) {
        throw new InputError({ message: `token ${token} is outside of the vocabulary`, value: token, expected: `0 to ${this.size - 1}` });
      }
      if (options.skipSpecial === true && token === this.eosId) continue;
      flush();
      parts.push(word);
    }
    flush();
    return parts.join("");
  }

  /** tokenizer.json and tokenizer_config.json, as `AutoTokenizer` reads them. */
  async save(folder: string): Promise<void> {
    const vocab: Record<string, number> = {};
    byteAlphabet().forEach((symbol, byte) => {
      vocab[symbol] = byte;
    });
    const added_tokens = this.added.map((content, i) => ({
      id: BYTES + i,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: content === END_OF_TEXT,
    }));
    const tokenizer = {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens,
      normalizer: null,
      pre_tokenizer: {
        type: "Sequence",
        pretokenizers: [
          { type: "Split", pattern: { Regex: QWEN2_SPLIT }, behavior: "Isolated", invert: false },
          { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
        ],
      },
      post_processor: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
      decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: "",
        end_of_word_suffix: "",
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab,
        merges: [],
      },
    };
    const config = {
      add_bos_token: false,
      add_prefix_space: false,
      clean_up_tokenization_spaces: false,
      eos_token: END_OF_TEXT,
      pad_token: END_OF_TEXT,
      errors: "replace",
      model_max_length: 1_000_000,
      split_special_tokens: false,
      tokenizer_class: "PreTrainedTokenizerFast",
      unk_token: null,
    };
    await writeFile(join(folder, "tokenizer.json"), `${JSON.stringify(tokenizer, null, 1)}\n`);
    await writeFile(join(folder, "tokenizer_config.json"), `${JSON.stringify(config, null, 2)}\n`);
  }

  /**
   * Reads a tokenizer of this kind.
   * @throws {CorruptFileError} one with merges, other ids, a normaliser or words that swallow blanks: it could not be encoded alike.
   */
  static async load(folder: string): Promise<Tokenizer> {
    const path = join(folder, "tokenizer.json");
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (cause) {
      throw new CorruptFileError({
        message: `${path} cannot be read: ${(cause as Error).message}`,
        remedy: "check the checkpoint folder",
        cause,
      });
    }
    const { model, added_tokens } = parseJsonWith(fileSchema, text, path, CorruptFileError);
    const alphabet = byteAlphabet();
    const foreign =
      model.merges.length > 0 || Object.keys(model.vocab).length !== BYTES || alphabet.some((s, byte) => model.vocab[s] !== byte);
    const sorted = [...added_tokens].sort((a, b) => a.id - b.id);
    if (foreign || sorted.some((t, i) => t.id !== BYTES + i)) {
      throw new CorruptFileError({
        message: `${path} is not a byte-level tokenizer with added words`,
        expected: "256 byte tokens without merges, then added tokens",
        remedy: "the embedded engine runs checkpoints made by `envwright pretrain`; serve others through an endpoint",
      });
    }
    try {
      return new Tokenizer(sorted.map((t) => t.content));
    } catch (cause) {
      if (!(cause instanceof InputError)) throw cause;
      throw new CorruptFileError({
        message: `${path}: ${cause.message}`,
        value: cause.value,
        expected: `distinct added words, ${END_OF_TEXT} among them`,
        remedy: "copy the checkpoint folder again",
        cause,
      });
    }
  }
}

/** Why a word cannot be an added token, if it cannot. */
function problemOf(word: string): string | undefined {
  if (word.length === 0) return "is empty";
  if (/\p{Surrogate}/u.test(word)) return "has an unpaired surrogate";
  // In the Hugging Face format an added token spelt like a byte's symbol takes the byte's id, and one that is made of symbols alone is
  // read back as bytes; printable ASCII symbols stand for themselves.
  if (SYMBOLS.has(word)) return "is the symbol of a byte";
  if ([...word].every((c) => SYMBOLS.has(c)) && /[^!-~]/.test(word)) return "is made of symbols of bytes";
  return undefined;
}

/** GPT-2's printable symbol of each byte. */
function byteAlphabet(): string[] {
  const printable = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
  let shifted = 0;
  return Array.from({ length: BYTES }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : 256 + shifted++));
}

const SYMBOLS: ReadonlySet<string> = new Set(byteAlphabet());
