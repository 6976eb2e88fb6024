/** Four hex digits, as vendors, products, codes and versions of USB/IP are written. */

/** @param number 0..65535 */
export function hex4(number: number): string {
  return number.toString(16).padStart(4, '0')
}
