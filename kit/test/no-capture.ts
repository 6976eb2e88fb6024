/** @returns why tests may not capture packets here, or false: Debian lets root alone, unless tshark's installer was told otherwise */
export function noCapture(): string | false {
  return process.geteuid?.() === 0 ? false : 'capturing packets needs root'
}
