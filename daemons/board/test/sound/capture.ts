/** What tshark says of packets on loopback: an eye that is not ours. */
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Owner } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { startPeer } from './other-programs.ts'

const run = promisify(execFile)

/** Packets in a file. */
export interface Capture {
  /** Ends it; what came until now is in the file. */
  stop(): Promise<void>
  /** One row for each packet that matches, but for the first tenth of a second, with the fields as tshark prints them. @param rtpPorts read as RTP */
  rows(filter: string, fields: readonly string[], rtpPorts?: readonly number[]): Promise<string[][]>
}

/** Room for a minute of a few streams. */
const MOST_OUTPUT = 64 << 20
/** Of the kernel, for packets that dumpcap has not read yet: with its 2 MB some are lost where a machine is busy. */
const BUFFER_MIB = '64'
/**
 * What dumpcap took at its begin has holes: packets come before its filter is in place, and are drained when it is (the
 * second packet of a stream was missing behind the first, in one of four runs beside others).
 */
const WHOLE = 'frame.time_relative > 0.1'

/** Starts to capture on lo; ended with the test. @param filter of pcap: `udp port 5004` */
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
