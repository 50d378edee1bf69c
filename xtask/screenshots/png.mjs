// Makes PNG files of a browser small: at most 256 colours, those that are seen most, and all else as the nearest of them.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const RGB = 2;
const RGBA = 6;
const INDEXED = 3;
const MOST_COLOURS = 256;

/** The same picture in fewer bytes. */
export function small(png) {
  const { width, height, colours } = read(png);
  const seen = new Map();
  for (const colour of colours) { seen.set(colour, (seen.get(colour) ?? 0) + 1); }
  const often = [...seen].sort((one, other) => other[1] - one[1] || one[0] - other[0]).map(([colour]) => colour);
  const palette = often.slice(0, MOST_COLOURS);
  const place = new Map(often.map((colour, at) => [colour, at < MOST_COLOURS ? at : nearest(palette, colour)]));
  const rows = Buffer.alloc((width + 1) * height);
  colours.forEach((colour, at) => { rows[at + Math.floor(at / width) + 1] = place.get(colour); });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, INDEXED, 0, 0, 0], 8);
  const entries = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("PLTE", entries), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]);
}

function nearest(palette, colour) {
  const apart = (one, other, by) => ((one >> by) & 255) - ((other >> by) & 255);
  let [best, least] = [0, Infinity];
  palette.forEach((known, at) => {
    const distance = 3 * apart(known, colour, 16) ** 2 + 6 * apart(known, colour, 8) ** 2 + apart(known, colour, 0) ** 2;
    if (distance < least) { [best, least] = [at, distance]; }
  });
  return best;
}

function chunk(name, data) {
  const whole = Buffer.alloc(data.length + 12);
  whole.writeUInt32BE(data.length, 0);
  whole.write(name, 4, "latin1");
  data.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, data.length + 8)), data.length + 8);
  return whole;
}

/** The colours of a picture, row by row, each as one number. What shines through is not known in screenshots. */
function read(png) {
  const parts = [];
  let header;
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (name === "IHDR") { header = data; }
    if (name === "IDAT") { parts.push(data); }
    at += length + 12;
  }
  const [width, height, depth, kind] = [header.readUInt32BE(0), header.readUInt32BE(4), header[8], header[9]];
  if (depth !== 8 || ![RGB, RGBA].includes(kind)) { throw new Error(`a PNG of another kind: ${depth} bits, type ${kind}`); }
  const step = kind === RGB ? 3 : 4;
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * step, height, step);
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at += 1) {
    colours[at] = (bytes[at * step] << 16) | (bytes[at * step + 1] << 8) | bytes[at * step + 2];
  }
  return { width, height, colours };
}

/** Rows as they were before each was written as its difference from its neighbours. */
function unfiltered(filtered, stride, height, step) {
  const bytes = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row += 1) {
    const filter = filtered[row * (stride + 1)];
    for (let column = 0; column < stride; column += 1) {
      const at = row * stride + column;
      const left = column >= step ? bytes[at - step] : 0;
      const above = row > 0 ? bytes[at - stride] : 0;
      const corner = column >= step && row > 0 ? bytes[at - stride - step] : 0;
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      bytes[at] = filtered[row * (stride + 1) + 1 + column] + guess;
    }
  }
  return bytes;
}

function paeth(left, above, corner) {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((value) => Math.abs(guess - value));
  if (toLeft <= toAbove && toLeft <= toCorner) { return left; }
  return toAbove <= toCorner ? above : corner;
}
