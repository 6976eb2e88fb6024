/** Requests whose headers never end, and requests from other loopback addresses meanwhile. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Owner } from '../running-daemon.ts'

/** `127.1.0.1`, `127.1.0.2` and so on: all of 127.0.0.0/8 is this machine. */
export const addressOf = (number: number) => `127.1.${number >> 8}.${number & 255}`

/** Opens connections from one address that send half a header. @returns the number still open */
export async function holdHalfOpen(t: Owner, url: string, by: { times: number; from: string }): Promise<() => number> {
  const { hostname, port } = new URL(url)
  const held: Socket[] = []
  t.teardown(() => {
    for (const socket of held) socket.destroy()
  })
  for (let at = 0; at < by.times; at++) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: by.from })
    socket.on('error', () => {})
    held.push(socket)
    await once(socket, 'connect')
    socket.write('GET /api/status HTTP/1.1\r\nHost: x\r\nX-Slow: ')
  }
  return () => held.filter(({ destroyed }) => !destroyed).length
}

/** Sends one request from each of `count` addresses, all at once. @returns how many were answered with 200 */
export async function askFromMany(url: string, count: number): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => statusFrom(url, addressOf(at + 1))))
  return answers.filter((status) => status === 200).length
}

function statusFrom(url: string, localAddress: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const asked = request(url, { localAddress, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
    })
    asked.on('error', () => resolve(undefined))
    asked.end()
  })
}
