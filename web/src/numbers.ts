// Doubles as Python adds and multiplies them: sums that are rounded once, and functions of cells.

/** Σ of the first `count` values, correctly rounded (Shewchuk 1997; Python's math.fsum); by IEEE rules
 * where that is not finite. */
export function total(values: ArrayLike<number>, count: number = values.length): number {
  const partials: number[] = [];
  for (let at = 0; at < count; at++) {
    let x = values[at]!;
    if (!Number.isFinite(x)) return plainSum(values, count);
    let kept = 0;
    for (let j = 0; j < partials.length; j++) {
      let y = partials[j]!;
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y;
      const low = y - (high - x);
      if (low) partials[kept++] = low;
      x = high;
    }
    partials.length = kept;
    partials.push(x);
    if (!Number.isFinite(x)) return plainSum(values, count);
  }
  return rounded(partials);
}

function rounded(partials: number[]): number {
  let n = partials.length;
  if (!n) return 0;
  let high = partials[--n]!;
  let low = 0;
  while (n > 0) {
    const x = high;
    const y = partials[--n]!;
    high = x + y;
    low = y - (high - x);
    if (low) break;
  }
  if (n > 0 && ((low < 0 && partials[n - 1]! < 0) || (low > 0 && partials[n - 1]! > 0))) {
    const y = low * 2;
    const x = high + y;
    if (y === x - high) high = x;
  }
  return high;
}

function plainSum(values: ArrayLike<number>, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += values[i]!;
  return sum;
}

const SPLIT = 134217729; // 2^27 + 1 (Veltkamp)
const LARGE = 2 ** 995;

/** Σ pₖ qₖ in triple-length arithmetic, as Python's math.sumprod (Ogita, Rump, Oishi 2005); terms from the
 * first that is not finite on by IEEE rules. */
export function sumprod(p: ArrayLike<number>, q: ArrayLike<number>, count: number): number {
  let hi = 0;
  let lo = 0;
  let tiny = 0;
  for (let k = 0; k < count; k++) {
    const x = p[k]!;
    const y = q[k]!;
    const product = x * y;
    if (!Number.isFinite(product)) {
      let sum = ended(hi, lo, tiny);
      for (let rest = k; rest < count; rest++) sum += p[rest]! * q[rest]!;
      return sum;
    }
    const error = residue(x, y, product);
    const sum = hi + product;
    const back = sum - hi;
    const e1 = hi - (sum - back) + (product - back);
    const low = lo + error;
    const back2 = low - lo;
    const e2 = lo - (low - back2) + (error - back2);
    const next = low + e1;
    const back3 = next - low;
    const e3 = low - (next - back3) + (e1 - back3);
    hi = sum;
    lo = next;
    tiny += e2 + e3;
  }
  return ended(hi, lo, tiny);
}

/** x·y − product, exactly. */
function residue(x: number, y: number, product: number): number {
  if (Math.abs(x) > LARGE) return residue(x * 2 ** -53, y, product * 2 ** -53) * 2 ** 53;
  if (Math.abs(y) > LARGE) return residue(x, y * 2 ** -53, product * 2 ** -53) * 2 ** 53;
  const a = SPLIT * x;
  const xh = a - (a - x);
  const xl = x - xh;
  const b = SPLIT * y;
  const yh = b - (b - y);
  const yl = y - yh;
  return xl * yl - (product - xh * yh - xl * yh - xh * yl);
}

function ended(hi: number, lo: number, tiny: number): number {
  const last = lo + tiny;
  const back = last - lo;
  const rest = lo - (last - back) + (tiny - back);
  return total([hi, last, rest]);
}

export function maximum(values: ArrayLike<number>, count: number): number {
  let largest = -Infinity;
  for (let i = 0; i < count; i++) {
    const value = values[i]!;
    if (value !== value) return NaN;
    if (value > largest) largest = value;
  }
  return largest;
}

/** What each function of an expression computes of numbers; true is 1, false 0. */
export const FUNCTIONS: Record<string, (...args: number[]) => number> = {
  add: (a, b) => a! + b!,
  subtract: (a, b) => a! - b!,
  multiply: (a, b) => a! * b!,
  divide: (a, b) => a! / b!,
  negate: (a) => -a!,
  absorb: (a, b) => (a === 0 || b === 0 ? 0 : a! * b!),
  absorb_divide: (a, b) => (a === 0 ? 0 : a! / b!),
  exp: (a) => Math.exp(a!),
  log: (a) => Math.log(a!),
  sqrt: (a) => Math.sqrt(a!),
  tanh: (a) => Math.tanh(a!),
  erf: (a) => erf(a!),
  sin: (a) => Math.sin(a!),
  cos: (a) => Math.cos(a!),
  total: (...args) => total(args),
  maximum: (...args) => maximum(args, args.length),
  is_visible: (a) => Number(a !== -Infinity),
  positive: (a) => Number(!(a! <= 0)),
  where: (condition, a, b) => (condition ? a! : b!),
  less: (a, b) => Number(a! < b!),
  equal: (a, b) => Number(a! === b!),
  logical_and: (a, b) => Number(Boolean(a) && Boolean(b)),
  logical_or: (a, b) => Number(Boolean(a) || Boolean(b)),
  logical_not: (a) => Number(!a),
};

/* erf after FreeBSD's s_erf.c, whose notice is:
 *   Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
 *   Developed at SunPro, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and
 *   distribute this software is freely granted, provided that this notice is preserved. */
const NEAR = [
  [1.28379167095512558561e-1, -3.25042107247001499370e-1, -2.84817495755985104766e-2, -5.77027029648944159157e-3,
    -2.37630166566501626084e-5],
  [1, 3.97917223959155352819e-1, 6.50222499887672944485e-2, 5.08130628187576562776e-3, 1.32494738004321644526e-4,
    -3.96022827877536812320e-6],
] as const;
const MIDDLE = [
  [-2.36211856075265944077e-3, 4.14856118683748331666e-1, -3.72207876035701323847e-1, 3.18346619901161753674e-1,
    -1.10894694282396677476e-1, 3.54783043256182359371e-2, -2.16637559486879084300e-3],
  [1, 1.06420880400844228286e-1, 5.40397917702171048937e-1, 7.18286544141962662868e-2, 1.26171219808761642112e-1,
    1.36370839120290507362e-2, 1.19844998467991074170e-2],
] as const;
const FAR = [
  [-9.86494403484714822705e-3, -6.93858572707181764372e-1, -1.05586262253232909814e1, -6.23753324503260060396e1,
    -1.62396669462573470355e2, -1.84605092906711035994e2, -8.12874355063065934246e1, -9.81432934416914548592],
  [1, 1.96512716674392571292e1, 1.37657754143519042600e2, 4.34565877475229228821e2, 6.45387271733267880336e2,
    4.29008140027567833386e2, 1.08635005541779435134e2, 6.57024977031928170135, -6.04244152148580987438e-2],
] as const;
const FARTHEST = [
  [-9.86494292470009928597e-3, -7.99283237680523006574e-1, -1.77579549177547519889e1, -1.60636384855821916062e2,
    -6.37566443368389627722e2, -1.02509513161107724954e3, -4.83519191608651397019e2],
  [1, 3.03380607434824582924e1, 3.25792512996573918826e2, 1.53672958608443695994e3, 3.19985821950859553908e3,
    2.55305040643316442583e3, 4.74528541206955367215e2, -2.24409524465858183362e1],
] as const;
const ERX = 8.45062911510467529297e-1;

function ratio(table: readonly [readonly number[], readonly number[]], x: number): number {
  const at = (coefficients: readonly number[]) => coefficients.reduceRight((sum, c) => c + x * sum, 0);
  return at(table[0]) / at(table[1]);
}

export function erf(x: number): number {
  if (x !== x) return NaN;
  const size = Math.abs(x);
  if (size < 0.84375) {
    if (size < 2 ** -28) return x + 1.28379167095512586316e-1 * x;
    return x + x * ratio(NEAR, x * x);
  }
  if (size < 1.25) {
    const y = ERX + ratio(MIDDLE, size - 1);
    return x > 0 ? y : -y;
  }
  if (size >= 6) return Math.sign(x);
  const s = 1 / (size * size);
  const power = ratio(size < 1 / 0.35 ? FAR : FARTHEST, s);
  const z = truncated(size);
  const y = 1 - (Math.exp(-z * z - 0.5625) * Math.exp((z - size) * (z + size) + power)) / size;
  return x > 0 ? y : -y;
}

const view = new DataView(new ArrayBuffer(8));

/** The number without the lower half of its bits, so that its square is exact. */
function truncated(x: number): number {
  view.setFloat64(0, x);
  view.setUint32(4, 0);
  return view.getFloat64(0);
}

/** How many doubles lie between two, at most; 0 where they are the same bit for bit, or both NaN. */
export function ulps(a: number, b: number): number {
  if (Object.is(a, b) || (a !== a && b !== b)) return 0;
  const [x, y] = [order(a), order(b)];
  const apart = x > y ? x - y : y - x;
  return apart === 0n ? 1 : Number(apart);
}

function order(x: number): bigint {
  view.setFloat64(0, x);
  const bits = view.getBigInt64(0);
  return bits < 0n ? -(bits & 0x7fffffffffffffffn) : bits;
}
