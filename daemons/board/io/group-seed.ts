/** Two bytes that differ from board to board. */
import { identityHere, instanceName } from '#kit/net/mdns/instance-name.ts'

/** From what tells boards apart on the network: copies of one card, and two boards on one machine, differ too. */
export function groupSeed(stateFolder: string): Uint8Array {
  return Buffer.from(instanceName('board', identityHere(stateFolder)).slice(-4), 'hex')
}
