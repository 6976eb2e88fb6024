/** Which stop bits a UART has: its second setting means two, or one and a half with five data bits. There is no third. */

/** @returns why the two do not go together, and what does; undefined where they do */
export function stopBitsFault(dataBits: number, stopBits: number): string | undefined {
  if (stopBits === 1.5 && dataBits !== 5)
    return `1.5 stop bits exist with 5 data bits only, and there are ${dataBits}. Use 1 or 2.`
  if (stopBits === 2 && dataBits === 5)
    return 'With 5 data bits a line has 1 or 1.5 stop bits, and never 2. Use 1 or 1.5.'
  return undefined
}
