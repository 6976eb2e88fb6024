/** Names of PTP clocks: as linuxptp writes them, and as SDP does. */

/**
 * @param text as pmc prints it, `001dc1.fffe.123456`, with or without a port number behind (`-1`)
 * @returns as SDP writes it, `00-1D-C1-FF-FE-12-34-56`; undefined where it is none
 * @source linuxptp util.c, cid2str; RFC 7273, 4.3
 */
export function clockIdentityOf(text: string): string | undefined {
  const parts = /^([0-9a-f]{6})\.([0-9a-f]{4})\.([0-9a-f]{6})(?:-\d{1,5})?$/.exec(text)
  if (!parts) return undefined
  const digits = `${parts[1]}${parts[2]}${parts[3]}`.toUpperCase()
  return (digits.match(/../g) ?? []).join('-')
}
