/**
 * Where a pattern matches. It comes from a repository, so that it may be made to cost: the usual translation into a
 * regular expression takes years for `*a*a*a*a*a*a*a*a*a` and a name of many a's. Here all ways to go on are followed at
 * once, character by character: the work is at most the length of the path times that of the pattern.
 */
import {
  ANY,
  type CharacterClass,
  FOLDERS,
  GLOB,
  MAYBE,
  type Pattern,
  SLASH,
  STAR,
  type Token,
} from "./pattern.ts";

function isIn({ negated, ranges }: CharacterClass, character: number): boolean {
  const upper = String.fromCodePoint(character).toUpperCase().codePointAt(0) ?? 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const [first = 0, last = 0] = [ranges[at], ranges[at + 1]];
    if (first <= character && character <= last) return !negated;
    if (first <= upper && upper <= last) return !negated;
  }
  return negated;
}

/**
 * The places where a pattern can go on; its length stands for its end. They are reused by all matches, of which there
 * are thousands in a row: making them anew took most of the time.
 */
class Places {
  #list = new Int32Array(256);
  #next = new Int32Array(256);
  #length = 0;
  #nextLength = 0;
  /** The last step in which each place was added: none is followed twice in one step. */
  #added = new Float64Array(256);
  #step = 0;

  /** How many there are. */
  get length(): number {
    return this.#length;
  }

  /** Forgets all. @param most the highest place that there will be */
  clear(most: number): void {
    if (most >= this.#list.length) {
      this.#list = new Int32Array(2 * most);
      this.#next = new Int32Array(2 * most);
      this.#added = new Float64Array(2 * most);
    }
    this.#length = this.#nextLength = 0;
    this.#step += 1;
  }

  has(place: number): boolean {
    return this.#list.subarray(0, this.#length).includes(place);
  }

  begin(tokens: readonly Token[]): void {
    this.#add(tokens, 0);
    this.#swap();
  }

  read(tokens: readonly Token[], character: number): void {
    for (let index = 0; index < this.#length; index += 1) {
      const place = this.#list[index] ?? 0;
      const token = tokens[place];
      if (token === character) this.#add(tokens, place + 1);
      else if (token === GLOB || token === FOLDERS) this.#add(tokens, place);
      else if (character === SLASH) continue;
      else if (token === STAR) this.#add(tokens, place);
      else if (token === ANY) this.#add(tokens, place + 1);
      else if (typeof token === "object" && isIn(token, character)) this.#add(tokens, place + 1);
      if (token === FOLDERS && character === SLASH) this.#add(tokens, place + 1);
    }
    this.#swap();
  }

  /** Adds a place, and those that are reached from it without a character. */
  #add(tokens: readonly Token[], place: number): void {
    for (let at = place; ; at += 1) {
      if (this.#added[at] === this.#step) return;
      this.#added[at] = this.#step;
      this.#next[this.#nextLength++] = at;
      const token = tokens[at];
      // After a MAYBE come its FOLDERS, and then what it is about to skip.
      if (token === MAYBE) at = this.#addOne(at + 1);
      else if (token !== STAR && token !== GLOB) return;
    }
  }

  #addOne(place: number): number {
    if (this.#added[place] !== this.#step) this.#next[this.#nextLength++] = place;
    this.#added[place] = this.#step;
    return place;
  }

  #swap(): void {
    [this.#list, this.#next] = [this.#next, this.#list];
    this.#length = this.#nextLength;
    this.#nextLength = 0;
    this.#step += 1;
  }
}

const places = new Places();

/**
 * Follows a pattern through a path.
 * @param segments see {@link segmentsOf}
 * @param matched told of each depth at which it matches: 0 for the first segment, a folder or the file itself
 * @param spend told of the work as it is done; it may throw
 */
export function match(
  { anchored, tokens }: Pattern,
  segments: readonly (readonly number[])[],
  matched: (depth: number) => void,
  spend: (steps: number) => void,
): void {
  const [first = 0, last = 0] = [tokens[0], tokens.at(-1)];
  const cannotBe = (token: Token, character = 0) =>
    typeof token === "number" && token >= 0 && token !== character;
  places.clear(tokens.length + 1);
  for (let depth = 0; depth < segments.length; depth += 1) {
    const segment = segments[depth] ?? [];
    spend(places.length + 1);
    if (depth > 0 && anchored) places.read(tokens, SLASH);
    if (!anchored) {
      // Most patterns are not for most names.
      if (cannotBe(first, segment[0]) || cannotBe(last, segment.at(-1))) continue;
      places.clear(tokens.length + 1);
    }
    if (depth === 0 || !anchored) places.begin(tokens);
    for (let at = 0; at < segment.length && places.length > 0; at += 1) {
      spend(places.length);
      places.read(tokens, segment[at] ?? 0);
    }
    if (places.has(tokens.length)) matched(depth);
    if (places.length === 0 && anchored) return;
  }
}
