/** Third-party programs that send and receive RTP, GStreamer and FFmpeg, by their command lines. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Owner } from '#kit/test/running-daemon.ts'

/** A running program; ended with the test. */
export interface Peer {
  /** Its output so far, both streams. */
  said(): string
  /** Interrupts it like Ctrl-C, so that it closes its files. @returns its exit code, or the signal that ended it */
  stop(): Promise<number | string>
  ended: Promise<number | string>
  pid: number
}

/** Starts one by its command line. */
export function startPeer(t: Owner, [program = '', ...args]: readonly string[]): Peer {
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (part) => (text += part))
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGINT')
    const late = setTimeout(() => child.kill('SIGKILL'), 5000)
    const how = await ended
    clearTimeout(late)
    return how
  }
  t.teardown(stop)
  return { said: () => text, stop, ended, pid: child.pid ?? 0 }
}

/** Destination of a stream. */
interface Place {
  group: string
  port: number
}

/** GStreamer sends a WAV file as L24, 1 ms a packet. */
export function gstSends(path: string, { group, port }: Place): string[] {
  const source = `filesrc location=${path} ! wavparse ! audioconvert ! rtpL24pay pt=97 min-ptime=1000000 max-ptime=1000000`
  const sink = `udpsink host=${group} port=${port} multicast-iface=lo auto-multicast=false`
  return ['gst-launch-1.0', '-q', ...`${source} ! ${sink}`.split(' ')]
}

/** FFmpeg sends a WAV file as L24; it reads in blocks, so it sends about twenty packets at once. */
export function ffmpegSends(path: string, { group, port }: Place): string[] {
  const url = `rtp://${group}:${port}?localaddr=127.0.0.1&pkt_size=300&ttl=1`
  const quiet = ['ffmpeg', '-loglevel', 'error', '-nostdin']
  return [...quiet, '-re', '-i', path, '-c:a', 'pcm_s24be', '-payload_type', '97', '-f', 'rtp', url]
}

/** GStreamer records L24 into a WAV file. */
export function gstRecords(path: string, { group, port }: Place, channels: number): string[] {
  const caps = `application/x-rtp,media=audio,clock-rate=48000,encoding-name=L24,channels=${channels},payload=97`
  const source = `udpsrc multicast-iface=lo address=${group} port=${port} caps=${caps}`
  const rest = 'rtpjitterbuffer latency=200 ! rtpL24depay ! audioconvert ! audio/x-raw,format=S24LE ! wavenc'
  return ['gst-launch-1.0', '-q', '-e', ...`${source} ! ${rest} ! filesink location=${path}`.split(' ')]
}

/** FFmpeg records what an SDP file describes into a WAV file. */
export function ffmpegRecords(path: string, sdpPath: string): string[] {
  const quiet = ['ffmpeg', '-loglevel', 'warning', '-nostdin', '-y']
  const input = ['-protocol_whitelist', 'file,udp,rtp', '-localaddr', '127.0.0.1', '-i', sdpPath]
  return [...quiet, ...input, '-c:a', 'pcm_s24le', path]
}
