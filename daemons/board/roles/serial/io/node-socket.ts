/** A socket of Node whose bytes are read by Node at one time and by the serial addon at another. */
import type { Socket } from 'node:net'

/** What Node's types leave out of an open socket. */
interface Handle {
  fd?: number
  reading: boolean
  readStart(): void
  readStop(): void
}

function handleOf(socket: Socket): Handle | null | undefined {
  return (socket as Socket & { _handle?: Handle | null })._handle
}

/** -1 where it is no more. */
export function descriptorOf(socket: Socket): number {
  return handleOf(socket)?.fd ?? -1
}

/**
 * From now on Node takes nothing from the kernel: `pause` alone would fill a buffer first.
 * @returns what Node had taken and nobody has had
 */
export function stopReading(socket: Socket): Uint8Array | undefined {
  socket.pause()
  // Asking for what is not there would begin to read.
  const unread = socket.readableLength > 0 ? (socket.read() as Uint8Array | null) : null
  const handle = handleOf(socket)
  if (handle?.reading) {
    handle.reading = false
    handle.readStop()
  }
  return unread ?? undefined
}

/** Node reads again, whoever stopped it. */
export function startReading(socket: Socket): void {
  socket.resume()
  const handle = handleOf(socket)
  // The stream believes that it is reading still, and would not begin again.
  if (handle && !handle.reading) {
    handle.reading = true
    handle.readStart()
  }
}
