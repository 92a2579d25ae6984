// Tells multiples in decimals, as they are written: 0.07 is 7 times 0.01, although their doubles are not.

/** A decimal: coefficient × 10^exponent. */
interface Decimal {
	coefficient: bigint;
	exponent: number;
}

/** A coefficient has at most 17 digits, and so at most 56 factors of 2 or 5: further tens make it divide nothing more. */
const MOST_TENS = 57;
const MOST_DIGITS = 17;

/** Whether a value is a multiple in the shortest decimals that give these doubles. @param divisor above 0 */
export function isMultiple(value: number, divisor: number): boolean {
	if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
	const quotient = value / divisor;
	// Each of the three numbers is rounded, by half an epsilon at most.
	if (Math.abs(quotient - Math.round(quotient)) > 2 * Number.EPSILON * Math.abs(quotient)) return false;
	const [whole, part] = [decimalOf(value), decimalOf(divisor)];
	const tens = whole.exponent - part.exponent;
	if (tens >= 0) return (whole.coefficient * 10n ** BigInt(Math.min(tens, MOST_TENS))) % part.coefficient === 0n;
	if (-tens > MOST_DIGITS) return whole.coefficient === 0n;
	return whole.coefficient % (part.coefficient * 10n ** BigInt(-tens)) === 0n;
}

function decimalOf(number: number): Decimal {
	const [digits = '', power = '0'] = String(number).split('e');
	const point = digits.indexOf('.');
	if (point < 0) return { coefficient: BigInt(digits), exponent: Number(power) };
	return { coefficient: BigInt(digits.slice(0, point) + digits.slice(point + 1)), exponent: Number(power) - (digits.length - point - 1) };
}
