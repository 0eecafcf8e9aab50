/* Line differences for file cards: common ends are cut off, the middle is compared by longest common subsequence. */

export interface DiffLine {
    readonly sign: "+" | "-" | " ";
    readonly text: string;
    readonly oldNumber: number | null;
    readonly newNumber: number | null;
}

export type DiffRow = DiffLine | { readonly sign: "gap"; readonly nHidden: number };

export interface Diff {
    readonly rows: readonly DiffRow[];
    readonly nAdded: number;
    readonly nRemoved: number;
}

const CONTEXT_LINES = 3;
/** A row in place of left-out lines takes a line itself. */
const GAP_MIN_LINES = 3;
/** Above this many cells the table would be noticeably slow; the middle is then shown as replaced as a whole. */
const TABLE_MAX_CELLS = 1_000_000;

type Sign = DiffLine["sign"];

function linesOf(text: string): string[] {
    if (text === "") return [];
    return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Lengths of the longest common subsequences of all tails: cell (i, j) is at i * (b.length + 1) + j. */
function tailLengths(a: readonly string[], b: readonly string[]): Uint32Array {
    const width = b.length + 1;
    const table = new Uint32Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--) {
        for (let j = b.length - 1; j >= 0; j--) {
            const at = i * width + j;
            table[at] =
                a[i] === b[j]
                    ? (table[at + width + 1] ?? 0) + 1
                    : Math.max(table[at + width] ?? 0, table[at + 1] ?? 0);
        }
    }
    return table;
}

function middleSigns(a: readonly string[], b: readonly string[]): Sign[] {
    if (a.length * b.length > TABLE_MAX_CELLS) return [...a.map((): Sign => "-"), ...b.map((): Sign => "+")];
    const table = tailLengths(a, b);
    const width = b.length + 1;
    const signs: Sign[] = [];
    let i = 0;
    let j = 0;
    while (i < a.length || j < b.length) {
        const below = table[(i + 1) * width + j] ?? 0;
        const right = table[i * width + j + 1] ?? 0;
        if (i < a.length && j < b.length && a[i] === b[j]) {
            signs.push(" ");
            i++;
            j++;
        } else if (i < a.length && (j === b.length || below >= right)) {
            signs.push("-");
            i++;
        } else {
            signs.push("+");
            j++;
        }
    }
    return signs;
}

function commonPrefix(a: readonly string[], b: readonly string[]): number {
    let n = 0;
    while (n < a.length && n < b.length && a[n] === b[n]) n++;
    return n;
}

function commonSuffix(a: readonly string[], b: readonly string[], nPrefix: number): number {
    let n = 0;
    const most = Math.min(a.length, b.length) - nPrefix;
    while (n < most && a[a.length - 1 - n] === b[b.length - 1 - n]) n++;
    return n;
}

function numbered(signs: readonly Sign[], a: readonly string[], b: readonly string[]): DiffLine[] {
    let i = 0;
    let j = 0;
    return signs.map((sign) => {
        const oldNumber = sign === "+" ? null : ++i;
        const newNumber = sign === "-" ? null : ++j;
        const text = newNumber === null ? a[i - 1] : b[newNumber - 1];
        return { sign, text: text ?? "", oldNumber, newNumber };
    });
}

/** Keeps the changes and a few lines around them; each stretch left out becomes one gap row. */
function folded(lines: readonly DiffLine[]): DiffRow[] {
    const isNear = new Array<boolean>(lines.length).fill(false);
    lines.forEach((line, at) => {
        if (line.sign !== " ") isNear.fill(true, Math.max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1);
    });
    if (!isNear.includes(true)) return [];
    const rows: DiffRow[] = [];
    let far: DiffLine[] = [];
    const flush = () => {
        if (far.length >= GAP_MIN_LINES) rows.push({ sign: "gap", nHidden: far.length });
        else rows.push(...far);
        far = [];
    };
    lines.forEach((line, at) => {
        if (isNear[at] !== true) {
            far.push(line);
            return;
        }
        flush();
        rows.push(line);
    });
    flush();
    return rows;
}

export function diffLines(before: string, after: string): Diff {
    const a = linesOf(before);
    const b = linesOf(after);
    const nPrefix = commonPrefix(a, b);
    const nSuffix = commonSuffix(a, b, nPrefix);
    const signs: Sign[] = [
        ...new Array<Sign>(nPrefix).fill(" "),
        ...middleSigns(a.slice(nPrefix, a.length - nSuffix), b.slice(nPrefix, b.length - nSuffix)),
        ...new Array<Sign>(nSuffix).fill(" "),
    ];
    return {
        rows: folded(numbered(signs, a, b)),
        nAdded: signs.filter((sign) => sign === "+").length,
        nRemoved: signs.filter((sign) => sign === "-").length,
    };
}
