/** Counts the bytes of a line on their way through. */
import type { Line } from './line.ts'

/** @param counts raised by each byte read, and by each byte the driver took */
export function countedLine(line: Line, counts: { rxBytes: number; txBytes: number }): Line {
  return {
    unsupported: line.unsupported,
    write: (bytes) =>
      line.write(bytes).then(() => {
        counts.txBytes += bytes.length
      }),
    sender(address, handlers) {
      const sender = line.sender(address, handlers)
      return {
        get heldBytes() {
          return sender.heldBytes
        },
        async write(bytes) {
          const taken = await sender.write(bytes)
          counts.txBytes += taken
          return taken
        },
        leave: (keeps) => sender.leave(keeps),
      }
    },
    drain: () => line.drain(),
    flush: () => line.flush(),
    onBytes(handler) {
      line.onBytes((bytes, atUs) => {
        counts.rxBytes += bytes.length
        handler(bytes, atUs)
      })
    },
    onGone: (handler) => line.onGone(handler),
    pause: () => line.pause(),
    resume: () => line.resume(),
    pass: (socketFd, tellMs, handlers) =>
      line.pass(socketFd, tellMs, {
        ...handlers,
        onBytes(bytes, taken, atUs) {
          counts.txBytes += taken
          handlers.onBytes(bytes, taken, atUs)
        },
      }),
    settle: () => line.settle(),
    driverCounts: () => line.driverCounts(),
    close: () => line.close(),
  }
}
