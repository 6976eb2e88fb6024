/** Ends a frame by quiet on the line, with serialport's inter-byte-timeout parser keeping the time. */
import { InterByteTimeoutParser } from '@serialport/parser-inter-byte-timeout'
import type { Framer, SilenceFramerMaker } from '../core/ports.ts'

/** Bytes a read hands over at once: a marker stands for one such chunk. */
const MARKER = Buffer.of(0)

/**
 * The parser copies every byte on its own (measured: docs/decisions/070-silence-framing.md), so it is given one
 * marker byte a chunk and says when the quiet came; the chunks themselves stay whole here, at most
 * `maxFrameBytes` of them.
 */
export const createSilenceFramer: SilenceFramerMaker = ({ silenceMs, maxFrameBytes }): Framer => {
  const parser = new InterByteTimeoutParser({ interval: silenceMs, maxBufferSize: maxFrameBytes })
  let chunks: Uint8Array[] = []
  let heldBytes = 0
  let lastAtUs = 0
  let handler: (frame: Uint8Array, atUs: number, cut: boolean) => void = () => {}

  function emit(isCut: boolean): void {
    if (heldBytes === 0) return
    const frame = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, heldBytes)
    chunks = []
    heldBytes = 0
    handler(frame, lastAtUs, isCut)
  }

  parser.on('data', () => emit(false))

  function hold(bytes: Uint8Array, atUs: number): void {
    chunks.push(bytes)
    heldBytes += bytes.length
    lastAtUs = atUs
    if (heldBytes >= maxFrameBytes) emit(true)
  }

  return {
    feed(bytes, atUs) {
      for (let at = 0; at < bytes.length; ) {
        const end = at + Math.min(bytes.length - at, maxFrameBytes - heldBytes)
        hold(bytes.subarray(at, end), atUs)
        at = end
      }
      if (heldBytes > 0) parser.write(MARKER)
    },
    onFrame(onFrame) {
      handler = onFrame
    },
    close() {
      emit(false)
      handler = () => {}
      parser.end()
    },
  }
}
