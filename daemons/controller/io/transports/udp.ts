/** UDP to devices: one socket per device, which accepts datagrams only from that device. */
import { createSocket, type Socket } from 'node:dgram'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Place } from '../../core/drivers/driver.ts'
import { within } from '../../core/turns.ts'
import { addressText, bare, cutOff, resolved, unreachable, type Wire, type WireEvents } from './tcp.ts'

/**
 * Looks up the name and connects the socket, so that the kernel drops datagrams from anybody else. This does not show
 * whether anybody is there.
 * @throws Fault `device_unreachable`, or the reason of `signal`
 */
export async function connectUdp(
  place: Place,
  { clock, connectMs }: { clock: Clock; connectMs: number },
  signal: AbortSignal,
): Promise<Socket> {
  const name = addressText(place)
  const late = () => new Fault('device_unreachable', `${name} was not looked up within ${durationText(connectMs)}`)
  const { address, family } = await within(addressOf(place), { clock, limitMs: connectMs, late, stop: signal })
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
  try {
    // Without a callback, which would be called for a failure too. A socket that is not connected hears anybody.
    socket.connect(place.port, address)
    await once(socket, 'connect')
    return socket
  } catch (cause) {
    socket.close()
    throw unreachable(name, cause as NodeJS.ErrnoException)
  }
}

function addressOf(place: Place): Promise<LookupAddress> {
  return new Promise((resolve, reject) => {
    resolved(bare(place.host), {}, (error, address, family) => {
      if (error || typeof address !== 'string')
        reject(unreachable(addressText(place), error ?? new Error('no address')))
      else resolve({ address, family: family ?? 4 })
    })
  })
}

/** @param socket connected; the wire owns it from now on */
export function udpWire(socket: Socket, name: string, { bytes, closed }: WireEvents): Wire {
  let isOpen = true
  const close = () => {
    if (isOpen) socket.close()
    isOpen = false
  }
  let reason = `${name} was closed`
  // The other side reports that nothing listens there.
  socket.on('error', (cause) => {
    reason = unreachable(name, cause).message
    close()
  })
  socket.once('close', () => closed(reason))
  socket.on('message', bytes)
  return {
    write(message) {
      return new Promise((resolve, reject) => {
        if (isOpen) socket.send(message, (error) => (error ? reject(cutOff(name, error)) : resolve()))
        else reject(cutOff(name))
      })
    },
    hold: () => false,
    close,
  }
}
