/* Terminal output as a reader wants it: no control sequences, and of a line drawn over itself the last state. */

const CONTROL_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;
const OTHER_CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

function lastDrawn(line: string): string {
    const drawn = line.replace(/\r+$/, "");
    return drawn.slice(drawn.lastIndexOf("\r") + 1);
}

export function cleanTerminalText(text: string): string {
    return text.replace(CONTROL_SEQUENCE, "").split("\n").map(lastDrawn).join("\n").replace(OTHER_CONTROL, "");
}
