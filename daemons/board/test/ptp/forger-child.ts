/**
 * Announces a thousand non-existent clocks a second, each with its own identity, until it is ended.
 *
 *     node forger-child.ts OWN_ADDRESS
 */
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'

const [address = ''] = process.argv.slice(2)

/** @source IEEE 1588-2008, 13.3 and 13.5: a header of 34 bytes, then an Announce of 30 */
function announce(): Buffer {
  const identity = randomBytes(8)
  const message = Buffer.alloc(64)
  message.writeUInt8(0x0b, 0)
  message.writeUInt8(2, 1)
  message.writeUInt16BE(message.length, 2)
  identity.copy(message, 20)
  message.writeUInt16BE(1, 28)
  message.writeUInt8(5, 32)
  message.writeInt8(1, 33)
  message.writeInt16BE(37, 44)
  // A priority that never wins: only their number matters.
  message.set([200, 248, 0xfe, 0xff, 0xff, 128], 47)
  identity.copy(message, 53)
  message.writeUInt8(0xa0, 63)
  return message
}

const socket = createSocket('udp4')
socket.bind(0, address, () => {
  socket.setMulticastInterface(address)
  setInterval(() => {
    for (let i = 0; i < 10; i++) socket.send(announce(), 320, '224.0.1.129')
  }, 10)
})
