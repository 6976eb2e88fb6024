/** `GET /api/ports/:path/capture.pcap`: what a line says from now on, for Wireshark. */
import { Readable } from 'node:stream'
import { Gathered } from '#kit/bytes/gathered.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { CaptureSink, Captures } from '../core/capture.ts'
import type { PortRegistry } from '../core/port-registry.ts'
import { portParams } from './port-body.ts'

export interface CaptureRouteParts {
  registry: PortRegistry
  captures: Captures
  /** Bytes held for one capture before it is broken off; `capture.backlog_bytes`. */
  backlogBytes: number
}

export function captureRoute({ registry, captures, backlogBytes }: CaptureRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/ports/:path/capture.pcap',
    who: 'user',
    ticket: true,
    summary: 'Live capture of a port until the client leaves, for Wireshark',
    params: portParams,
    replyType: 'application/vnd.tcpdump.pcap',
    handle({ params }) {
      const { path } = params
      const { protocol } = registry.record(path)
      const { file, sink } = captureFile(backlogBytes)
      const stop = captures.start(path, protocol, sink)
      file.once('close', stop)
      return new Reply(200, file, {
        'content-type': 'application/vnd.tcpdump.pcap',
        'content-disposition': `attachment; filename="${nameOf(path)}.pcap"`,
      })
    },
  })
}

/** A record goes to whoever reads at once; those that wait are gathered, as most are a few bytes. */
function captureFile(backlogBytes: number): { file: Readable; sink: CaptureSink } {
  const gathered = new Gathered()
  let isWanted = false
  const file = new Readable({
    // One record at most waits here as it came.
    highWaterMark: 1,
    read() {
      isWanted = true
      pushRest()
    },
  })
  function pushRest(): void {
    if (!isWanted || gathered.length === 0) return
    isWanted = false
    file.push(gathered.take())
  }
  const sink: CaptureSink = {
    write(bytes) {
      if (file.readableLength + gathered.length + bytes.length > backlogBytes) return false
      gathered.add(bytes, (piece) => void file.push(piece))
      pushRest()
      return true
    },
    end() {
      file.push(gathered.take())
      file.push(null)
    },
    breakOff: (fault) => void file.destroy(fault),
  }
  return { file, sink }
}

/** `/dev/ttyUSB0` as `ttyUSB0`: letters, digits, dots and hyphens of the last part. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_') || 'capture'
}
