/** Where a daemon may be told to send things: any host of the building, no address that means the machine's own secrets. */
import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { Fault } from '#kit/fault.ts'
import { type AddressClass, classOf, parseAddress } from './address.ts'
import { createSharedLookup } from './shared-lookup.ts'

/** Longest URL that is taken. */
const LONGEST = 2048

/** Loopback and private networks are what buildings are made of, and are allowed. */
const FORBIDDEN: Readonly<Partial<Record<AddressClass, string>>> = {
  'link-local': 'a link-local address',
  metadata: 'the address of a metadata service',
  multicast: 'a multicast address',
  unspecified: 'an address of no host',
  reserved: 'a reserved or broadcast address',
}

/**
 * Reads the URL of a target. An address in its host is judged here, in whatever notation it was written, since URL
 * makes it canonical; a name is judged by `lookupSafely` at each connect.
 * @throws Fault `bad_target`; the sentence has the URL as its subject and says what is expected instead
 */
export function parseTarget(text: string): URL {
  if (text.length > LONGEST) refuse(`has ${text.length} characters, at most ${LONGEST} are taken`)
  // URL would drop these silently, and what is kept would not be what was checked.
  if (/[\s\p{Cc}]/u.test(text)) refuse('has a space or a control character')
  const url = URL.parse(text)
  if (!url) return refuse('cannot be read, expected such as http://192.168.1.20:8080/hook')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    refuse(`begins with ${url.protocol} where http:// or https:// is expected`)
  // The URL is shown in lists and log lines.
  if (url.username !== '' || url.password !== '')
    refuse('holds a user name or password: send them in headers, as Authorization')
  if (text.includes('#')) refuse('has a fragment (#...), which is never sent')
  if (url.port === '0') refuse('has port 0, which cannot be connected to')
  const sentence = forbiddenSentence(url.hostname)
  if (sentence !== undefined) refuse(sentence)
  return url
}

/**
 * The `lookup` of `http.request` for targets. Fails where any address of the name is forbidden; a name that resolves
 * otherwise a moment later (DNS rebinding) gains nothing, since the socket takes what came out of here. Node does not
 * look up an address that stands in place of a name: `parseTarget` judges that one.
 * @throws to its callback Fault `bad_target`, or the resolver's own error
 */
export const lookupSafely: LookupFunction = (hostname, options, callback) => {
  sharedLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 0)
    for (const { address } of addresses) {
      const sentence = forbiddenSentence(address)
      if (sentence !== undefined) return callback(new Fault('bad_target', `${hostname} ${sentence}`), '', 0)
    }
    const first = addresses[0]
    if (!first) return callback(new Fault('bad_target', `${hostname} has no address`), '', 0)
    if (options.all) callback(null, addresses)
    else callback(null, first.address, first.family)
  })
}

const sharedLookup = createSharedLookup((hostname, options, answered) => lookup(hostname, options, answered))

function forbiddenSentence(host: string): string | undefined {
  const address = parseAddress(host)
  const what = address && FORBIDDEN[classOf(address)]
  return what && `leads to ${host}, ${what}, to which nothing is sent`
}

function refuse(sentence: string): never {
  throw new Fault('bad_target', sentence)
}
