/** A fake site: boards with sound, one server each, as many as a test wants. */
import type { Test } from 'tap'
import type { DecoderState, EncoderState, Peer, Status } from '../web/api.ts'
import { type FakeBoard, type FakeState, startFakeBoard } from './fake-board.ts'
import { fakeDecoder, fakeEncoder, fakePtp } from './fake-sound.ts'
import { fakePeer, fakeStatus } from './fake-states.ts'

/** One board of the site. */
export interface Site {
  /** The board whose pages are open. */
  here: FakeBoard
  boards: ReadonlyMap<string, FakeBoard>
}

/** A board: its name and what it does. */
export interface Member {
  name: string
  encoder?: Partial<EncoderState>
  decoder?: Partial<DecoderState>
  change?: Partial<FakeState>
}

/** Starts the boards; the first serves the page. */
export async function startSite(t: Test, [first, ...others]: readonly [Member, ...Member[]]): Promise<Site> {
  const here = await startFakeBoard(t, { ...first.change, status: statusOf(first) })
  const boards = new Map([[first.name, here]])
  for (const member of others)
    boards.set(
      member.name,
      await startFakeBoard(t, { allowedOrigins: [here.url], ...member.change, status: statusOf(member) }),
    )
  here.state.peers = [first, ...others].map((member, at) =>
    peerOf(member, boards.get(member.name)?.url ?? '', at === 0),
  )
  return { here, boards }
}

function statusOf({ name, encoder, decoder }: Member): Status {
  const role = encoder ? 'encoder' : 'decoder'
  const text = encoder ? `Sending ${encoder.stream?.name ?? name}.` : `${name} plays.`
  return fakeStatus({
    ...{ role, name, hostname: hostOf(name), verdict: { state: 'ok', text }, ptp: fakePtp() },
    ...(encoder ? { encoder: fakeEncoder(encoder) } : { decoder: fakeDecoder(decoder) }),
  })
}

function peerOf({ name, encoder }: Member, url: string, self: boolean): Peer {
  return fakePeer(hostOf(name), {
    id: self ? null : idOf(name),
    name,
    role: encoder ? 'encoder' : 'decoder',
    url,
    self,
    state: self ? 'here' : 'alive',
  })
}

/** Network id of a board of the site. */
export function idOf(name: string): string {
  return `board-${hostOf(name)}._plantroom._tcp.local`
}

function hostOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}

/** An encoder that sends to its own group. */
export function sends(name: string, group: number, change: Partial<EncoderState> = {}): Member {
  const { stream } = fakeEncoder()
  return { name: `Rack ${name}`, encoder: { stream: { ...stream, name, mcast: groupOf(group) }, ...change } }
}

/** A decoder routed to a group, or to nothing. */
export function plays(name: string, group: number | null, change: Partial<DecoderState> = {}): Member {
  const { route } = fakeDecoder()
  const mcast = group === null ? '' : groupOf(group)
  return { name, decoder: { route: { ...route, mcast, name: null }, sender: null, playing: group !== null, ...change } }
}

function groupOf(group: number): string {
  return `239.69.${20 + Math.floor(group / 250)}.${1 + (group % 250)}`
}
