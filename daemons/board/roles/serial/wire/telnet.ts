/** Telnet's bytes: commands, options, and how data and suboptions are written. */

/** Commands that follow an IAC. @source RFC 854, RFC 855 */
export const TELNET = {
  se: 240,
  nop: 241,
  /** Break. */
  brk: 243,
  /** Are you there. */
  ayt: 246,
  sb: 250,
  will: 251,
  wont: 252,
  do: 253,
  dont: 254,
  iac: 255,
} as const

/** Options a serial server speaks. @source RFC 856 (binary), RFC 857 (echo), RFC 858 (sga), RFC 2217 (comPort) */
export const OPTION = { binary: 0, echo: 1, sga: 3, comPort: 44 } as const

/** The four words about an option. `will` and `wont` speak of the sender's side, `do` and `dont` of the receiver's. */
export type OptionVerb = 'will' | 'wont' | 'do' | 'dont'

const CR = 13
const LF = 10

/**
 * Data as it goes over a Telnet connection: each FF twice. The same array where nothing needs it.
 * @source RFC 854, "The TELNET Command Structure"
 */
export function doubledIac(data: Uint8Array): Uint8Array {
  let at = data.indexOf(TELNET.iac)
  if (at < 0) return data
  let count = 0
  for (; at >= 0; at = data.indexOf(TELNET.iac, at + 1)) count++
  const out = new Uint8Array(data.length + count)
  let end = 0
  for (const byte of data) {
    out[end++] = byte
    if (byte === TELNET.iac) out[end++] = byte
  }
  return out
}

/**
 * Data for a peer that will not have BINARY: a CR stands before LF or NUL only. The same array where it holds no CR.
 * @source RFC 854, "The NVT Printer and Keyboard"
 */
export function withCrNul(data: Uint8Array): Uint8Array {
  if (!data.includes(CR)) return data
  const out: number[] = []
  for (const [at, byte] of data.entries()) {
    out.push(byte)
    if (byte === CR && data[at + 1] !== LF) out.push(0)
  }
  return Uint8Array.from(out)
}

/** Data of a peer that will not have BINARY, across pieces: the NUL behind a CR stands for nothing. */
export function createCrNulReader(): (data: Uint8Array) => Uint8Array {
  let isAfterCr = false
  return (data) => {
    const out: number[] = []
    for (const byte of data) {
      if (!(isAfterCr && byte === 0)) out.push(byte)
      isAfterCr = byte === CR
    }
    return out.length === data.length ? data : Uint8Array.from(out)
  }
}

/** `IAC WILL option` and its like: 3 bytes. @source RFC 855 */
export function optionFrame(verb: OptionVerb, option: number): Uint8Array {
  return Uint8Array.of(TELNET.iac, TELNET[verb], option)
}

/** `IAC SB option payload IAC SE`, each FF of the payload twice. @source RFC 855 */
export function suboptionFrame(option: number, payload: Uint8Array): Uint8Array {
  const inner = doubledIac(payload)
  const frame = new Uint8Array(inner.length + 5)
  frame.set([TELNET.iac, TELNET.sb, option])
  frame.set(inner, 3)
  frame.set([TELNET.iac, TELNET.se], inner.length + 3)
  return frame
}

/** `IAC command`: 2 bytes. @source RFC 854 */
export function commandFrame(command: number): Uint8Array {
  return Uint8Array.of(TELNET.iac, command)
}
