/** Packets on loopback as tshark reads them: an independent witness. */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { startPeer } from './other-programs.ts'

const run = promisify(execFile)

/** Packets captured to a file. */
export interface Capture {
  /** Ends it; packets until now are in the file. */
  stop(): Promise<void>
  /** One row for each packet that matches, but for the first tenth of a second, with the fields as tshark prints them. @param rtpPorts read as RTP */
  rows(filter: string, fields: readonly string[], rtpPorts?: readonly number[]): Promise<string[][]>
}

/** Enough for a minute of a few streams. */
const MOST_OUTPUT = 64 << 20
/** Kernel buffer for packets that dumpcap has not read yet: with its default of 2 MB a busy machine loses some. */
const BUFFER_MIB = '64'
/**
 * The beginning of a capture has holes: packets arrive before dumpcap's filter is in place, and are drained once it is
 * (in one of four parallel runs a stream's second packet was missing after its first).
 */
const WHOLE = 'frame.time_relative > 0.1'

/** Starts capturing on lo; ended with the test. @param filter of pcap: `udp port 5004` */
export async function startCapture(t: Owner, path: string, filter: string): Promise<Capture> {
  const dumpcap = startPeer(t, ['dumpcap', '-q', '-B', BUFFER_MIB, '-i', 'lo', '-f', filter, '-w', path])
  t.teardown(() => rmSync(path, { force: true }))
  await until('dumpcap captures', () => dumpcap.said().includes('File:'), 10_000)
  return {
    stop: async () => void (await dumpcap.stop()),
    async rows(display, fields, rtpPorts = []) {
      const asRtp = rtpPorts.flatMap((port) => ['-d', `udp.port==${port},rtp`])
      const wanted = fields.flatMap((field) => ['-e', field])
      const args = [
        '-r',
        path,
        ...asRtp,
        '-Y',
        `${WHOLE} && (${display})`,
        '-T',
        'fields',
        '-E',
        'separator=/t',
        ...wanted,
      ]
      const { stdout } = await run('tshark', args, { maxBuffer: MOST_OUTPUT })
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split('\t'))
    },
  }
}
