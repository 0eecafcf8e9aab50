// What a provider's cache of prompts holds, for fakes whose prompts carry marks.
import { createHash } from 'node:crypto';

const BYTES_PER_TOKEN = 4;
// Vendors look for earlier entries this many blocks before a mark.
const LOOK_BACK_BLOCKS = 20;

/** The prompt up to the end of each block: its hash, and its length in tokens. */
function prefixesOf(model, blocks) {
  const hash = createHash('sha256').update(model);
  let bytes = 0;
  return blocks.map(({ text, isMarked }) => {
    hash.update(text);
    bytes += text.length;
    return { hash: hash.copy().digest('hex'), tokens: Math.ceil(bytes / BYTES_PER_TOKEN), isMarked };
  });
}

export class PromptCache {
  constructor() {
    this.known = new Set();
  }

  /** The tokens of a prompt, [{ text, isMarked }], that are read, written, and neither. */
  count(model, blocks) {
    const prefixes = prefixesOf(model, blocks);
    const marks = prefixes.flatMap(({ isMarked }, i) => (isMarked ? [i] : []));
    let read = 0;
    for (const mark of marks) {
      for (let i = mark; i >= Math.max(0, mark - LOOK_BACK_BLOCKS); i--)
        if (this.known.has(prefixes[i].hash)) read = Math.max(read, prefixes[i].tokens);
    }
    const written = Math.max(0, (prefixes[marks.at(-1)]?.tokens ?? 0) - read);
    for (const mark of marks) this.known.add(prefixes[mark].hash);
    return { read, written, fresh: (prefixes.at(-1)?.tokens ?? 0) - read - written };
  }
}
