/** mDNS messages as strangers may write them. */

/** One record to write. */
export interface Record {
  name: string
  type: 'A' | 'PTR' | 'TXT' | 'AAAA' | 'SRV'
  ttlS: number
  data: Uint8Array
}

const TYPES = { A: 1, PTR: 12, TXT: 16, AAAA: 28, SRV: 33 }

/** Encodes a name as labels. */
export function nameOf(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from(label))
  return Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), label]), Buffer.of(0)])
}

/** Encodes the texts of a record. */
export function textOf(texts: readonly string[]): Buffer {
  return Buffer.concat(texts.flatMap((text) => [Buffer.of(Buffer.byteLength(text)), Buffer.from(text)]))
}

/** Encodes where a service runs. */
export function placeOf(port: number, host: string): Buffer {
  const fixed = Buffer.alloc(6)
  fixed.writeUInt16BE(port, 4)
  return Buffer.concat([fixed, nameOf(host)])
}

export function response(answers: readonly Record[]): Buffer {
  return message(0x8400, [], answers)
}

export function query(names: readonly string[]): Buffer {
  return message(0, names, [])
}

/** The announcement of one daemon. */
export function announced(given: {
  id: string
  host?: string
  port?: number
  texts?: readonly string[]
  address?: string
  ttlS?: number
}): Buffer {
  const { id, host = 'x.local', port = 80, texts = ['role=serial'], address, ttlS = 120 } = given
  const name = `${id}._plantroom._tcp.local`
  return response([
    { name: '_plantroom._tcp.local', type: 'PTR', ttlS, data: nameOf(name) },
    { name, type: 'SRV', ttlS, data: placeOf(port, host) },
    { name, type: 'TXT', ttlS, data: textOf(texts) },
    ...(address ? [{ name: host, type: 'A' as const, ttlS, data: Uint8Array.from(address.split('.'), Number) }] : []),
  ])
}

function message(flags: number, questions: readonly string[], answers: readonly Record[]): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(flags, 2)
  head.writeUInt16BE(questions.length, 4)
  head.writeUInt16BE(answers.length, 6)
  const asked = questions.map((name) => Buffer.concat([nameOf(name), Buffer.of(0, TYPES.PTR, 0, 1)]))
  return Buffer.concat([head, ...asked, ...answers.map(recordOf)])
}

function recordOf({ name, type, ttlS, data }: Record): Buffer {
  const fields = Buffer.alloc(10)
  fields.writeUInt16BE(TYPES[type], 0)
  fields.writeUInt16BE(1, 2)
  fields.writeUInt32BE(ttlS, 4)
  fields.writeUInt16BE(data.length, 8)
  return Buffer.concat([nameOf(name), fields, data])
}
