// Messages of application/vnd.amazon.eventstream, as an AWS service sends them.
// Source: https://smithy.io/2.0/aws/amazon-eventstream.html
const TEXT = 7;
const POLYNOMIAL = 0xedb88320;

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? POLYNOMIAL ^ (value >>> 1) : value >>> 1;
  return value;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = table[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

function number(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const withSum = (bytes) => Buffer.concat([bytes, number(crc32(bytes))]);

function header([name, value]) {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([TEXT, bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

/** The beginning of a message: its lengths and their checksum. */
export const prelude = (total, headers) => withSum(Buffer.concat([number(total), number(headers)]));

function message(headers, payload) {
  const head = Buffer.concat(Object.entries(headers).map(header));
  const body = Buffer.from(payload);
  return withSum(Buffer.concat([prelude(16 + head.length + body.length, head.length), head, body]));
}

export const eventFrame = (type, payload) =>
  message({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }, JSON.stringify(payload));

export const exceptionFrame = (type, payload) =>
  message({ ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' }, JSON.stringify(payload));
