/**
 * @returns why tests may not capture packets here, or false: on Debian only root may, unless tshark was installed
 * otherwise
 */
export function noCapture(): string | false {
  return process.geteuid?.() === 0 ? false : 'capturing packets needs root'
}
