/**
 * The white light and the siren of cameras by Dahua, over their HTTP interface.
 * @source Dahua, HTTP API of cameras, Coaxial Control IO: `coaxialControlIO.cgi`
 */

/** What such a camera can switch, by the names in its answer. */
export const dahuaOutputs = [
  { id: 'dahua-light', kind: 'light', name: 'White light', type: 1, word: 'whitelight' },
  { id: 'dahua-siren', kind: 'siren', name: 'Siren', type: 2, word: 'speaker' },
] as const
export type DahuaOutput = (typeof dahuaOutputs)[number]

/** Some begin to count their channels at 0 for one question and at 1 for the other; all take 1 for both. */
const CHANNEL = 1

/** Path of the question for what is on. */
export const statusPath = `/cgi-bin/coaxialControlIO.cgi?action=getStatus&channel=${CHANNEL}`

/** Path of an order. Brackets stay as they are: cameras do not read them escaped. @source table of the request: IO 1 on, 2 off; TriggerMode 2 by hand */
export function controlPath({ type }: DahuaOutput, isOn: boolean): string {
  const info = `info[0].Type=${type}&info[0].IO=${isOn ? 1 : 2}&info[0].TriggerMode=2`
  return `/cgi-bin/coaxialControlIO.cgi?action=control&channel=${CHANNEL}&${info}`
}

/**
 * Reads the answer to `statusPath`: lines such as `status.status.WhiteLight=Off`.
 * @returns what the camera tells of
 */
export function readStatus(text: string): DahuaOutput[] {
  const told = new Set(
    [...text.matchAll(/^status\.(?:status\.)?(\w+)=(?:on|off)\s*$/gim)].map(([, word = '']) => word.toLowerCase()),
  )
  return dahuaOutputs.filter(({ word }) => told.has(word))
}

/** Whether an answer says that an order was taken. */
export function isTaken(text: string): boolean {
  return /^OK\s*$/.test(text)
}

/** Whether a challenge is of such a camera: to others no password is sent in answer to these questions. */
export function isDahuaRealm(realm: string): boolean {
  return /^(Login to |DH_)/.test(realm)
}
