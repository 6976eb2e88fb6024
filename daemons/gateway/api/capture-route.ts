/** `GET /api/ports/:path/capture.pcap`: what a line says from now on, for Wireshark. */
import { Readable } from 'node:stream'
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
      const file = new Readable({ read() {} })
      const stop = captures.start(path, protocol, sinkTo(file, backlogBytes))
      file.once('close', stop)
      return new Reply(200, file, {
        'content-type': 'application/vnd.tcpdump.pcap',
        'content-disposition': `attachment; filename="${nameOf(path)}.pcap"`,
      })
    },
  })
}

function sinkTo(file: Readable, backlogBytes: number): CaptureSink {
  return {
    write(bytes) {
      if (file.readableLength + bytes.length > backlogBytes) return false
      file.push(bytes)
      return true
    },
    end: () => void file.push(null),
    breakOff: (fault) => void file.destroy(fault),
  }
}

/** `/dev/ttyUSB0` as `ttyUSB0`: letters, digits, dots and hyphens of the last part. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_') || 'capture'
}
