import fc from 'fast-check'
import t from 'tap'
import { isWholeFrame, openLongFrame, responseFrame } from '../../../wire/mbus/frames.ts'
import { cutRecords, withOwnNames } from '../../../wire/mbus/records.ts'
import { applicationError, openTelegram } from '../../../wire/mbus/telegram.ts'
import { telegrams } from './telegrams.ts'

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))

/** The telegram of this name, with the names and values of its records. */
function told(name: string) {
  const telegram = openTelegram(bytesOf(telegrams[name] ?? ''))
  const records = withOwnNames(telegram.records)
  return { telegram, values: Object.fromEntries(records.map(({ name, unit, value }) => [name, [value, unit]])) }
}

/** The only record of these bytes. */
function one(text: string) {
  const { problem, records } = cutRecords(bytesOf(text))
  if (records.length !== 1 || !records[0]) throw new Error(`${records.length} records: ${problem}`)
  const { name, problem: why, unit, value } = records[0]
  return why === null ? [name, value, unit] : [name, value, why]
}

t.test('EN 13757-3 the worked example of the variable structure', async (t) => {
  const { telegram, values } = told('two volumes and a maximum')
  t.match(telegram, {
    meter: { id: '12345678', manufacturer: 'PAD', version: 1, medium: { code: 7, name: 'water' } },
    accessNumber: 0x55,
    status: [],
    isEncrypted: false,
    hasMore: false,
    problem: null,
  })
  t.same(values, {
    volume: [12.565, 'm³'],
    'volume flow maximum storage 5': [0.113, 'm³/h'],
    'energy tariff 2 subunit 1': [218_370, 'Wh'],
  })
})

t.test('EN 13757-3 the worked example of the fixed structure', async (t) => {
  const { telegram, values } = told('fixed structure, water')
  t.match(telegram.meter, { id: '12345678', manufacturer: null, version: null, medium: { code: 7, name: 'water' } })
  t.same(values, { volume: [0.001, 'm³'], 'volume storage 1': [0.135, 'm³'] })
})

t.test('telegrams of meters in the field are read as their makers say', async (t) => {
  t.match(told('Kamstrup Multical 601').values, {
    energy: [37_351_000, 'Wh'],
    volume: [561.08, 'm³'],
    'on time': [985, 'h'],
    'flow temperature': [101.69, '°C'],
    'temperature difference': [55.53, 'K'],
    'power maximum': [44_800, 'W'],
    'volume flow': [0.543, 'm³/h'],
    'date and time': ['2011-01-05T15:26', null],
    'energy storage 1 tariff 2': [0, 'Wh'],
    'date storage 1': ['2010-12-31', null],
  })
  t.equal(told('Kamstrup Multical 601').telegram.rest.length, 57, 'the block of the manufacturer is kept as it is')
  t.match(told('Elster Falcon').values, {
    volume: [1234.567, 'm³'],
    'date and time': ['2007-02-06T13:58', null],
    'date storage 1': ['2007-01-01', null],
    'date future storage 1': ['2008-01-01', null],
  })
  t.match(told('electricity meter with phases').values, {
    'energy tariff 2': [17_744_330, 'Wh'],
    'voltage manufacturer specific 01': [237, 'V'],
    'power manufacturer specific 01 subunit 1': [-180, 'W'],
    'manufacturer specific 68': [null, null],
  })
  t.match(told('Elvaco CMa10').values, { 'in %RH': [45.64, '%RH'], 'external temperature minimum': [21.6, '°C'] })
  t.match(told('OMS water meter').values, { volume: [2850.427, 'm³'], 'error flags': [0, null] })
  t.match(told('fillers and an uncorrected unit').values, { 'energy positive contributions': [5000, 'Wh'] })
  t.match(told('binary number of 16 bytes').values, { 'in PW': [null, 'PW'] })
  t.match(told('Siemens WFH21').values, { 'parameter set': ['WFH21', null], 'date error': [null, null] })
  t.equal(told('Sensus PolluTherm').telegram.hasMore, true)
  t.same(told('Sontex Supercal 531').telegram.status, ['temporary error', 'manufacturer bit 5'])
})

t.test('every way in which data is coded', async (t) => {
  const rows: [string, unknown[]][] = [
    ['01 13 80', ['volume', null, 'the meter marks it as invalid']],
    ['01 13 FF', ['volume', -0.001, 'm³']],
    ['02 13 E8 03', ['volume', 1, 'm³']],
    ['03 13 40 42 0F', ['volume', 1000, 'm³']],
    ['04 13 40 42 0F 00', ['volume', 1000, 'm³']],
    ['05 2B 00 00 48 42', ['power', 50, 'W']],
    ['05 2B CD CC 0C 40', ['power', 2.2, 'W']],
    ['05 2B 00 00 C0 7F', ['power', null, 'it is not a number']],
    ['06 13 40 42 0F 00 00 00', ['volume', 1000, 'm³']],
    ['07 03 FF FF FF FF FF FF FF 7F', ['energy', '9223372036854775807', 'Wh']],
    ['08 03', ['energy', null, 'Wh']],
    ['09 13 42', ['volume', 0.042, 'm³']],
    ['0A 13 34 12', ['volume', 1.234, 'm³']],
    ['0B 13 56 34 F2', ['volume', -23.456, 'm³']],
    ['0C 13 78 56 34 12', ['volume', 12_345.678, 'm³']],
    ['0C 13 EE EE EE EE', ['volume', null, 'its digits are EEEEEEEE']],
    ['0E 13 12 90 78 56 34 12', ['volume', 123_456_789.012, 'm³']],
    ['0D FD 0B 05 31 32 48 46 57', ['parameter set', 'WFH21', null]],
    ['0D 13 C2 34 12', ['volume', 1.234, 'm³']],
    ['0D 13 D2 34 12', ['volume', -1.234, 'm³']],
    ['0D 78 E3 01 02 03', ['fabrication number', 197_121, null]],
    ['0D 78 E9 01 02 03 04 05 06 07 08 09', ['fabrication number', null, null]],
    ['02 FD 17 01 80', ['error flags', 0x8001, null]],
    ['02 6C E1 01', ['date', '2007-01-01', null]],
    ['02 6C 00 00', ['date', null, 'it is not a date']],
    ['02 6C FE 02', ['date', null, 'it is not a date']],
    ['04 6D 3A 0D E6 02', ['date and time', '2007-02-06T13:58', null]],
    ['04 6D BA 0D E6 02', ['date and time', null, 'it is not a date']],
    ['04 6D 3A 0D A6 BC', ['date and time', '1993-12-06T13:58', null]],
    ['06 6D 0A 1E 0F 61 01 00', ['date and time', '2003-01-01T15:30:10', null]],
    ['03 6D 0A 1E 0F', ['date and time', '15:30:10', null]],
    ['04 6D FF FF FF FF', ['date and time', null, 'it is not a date']],
  ]
  for (const [text, expected] of rows) t.same(one(text), expected, text)
})

t.test('every way in which value information goes on', async (t) => {
  const rows: [string, unknown[]][] = [
    ['01 FB 01 05', ['energy', 5_000_000, 'Wh']],
    ['01 FB 09 05', ['energy (J)', 5e9, 'J']],
    ['01 FB 1A 2A', ['relative humidity', 4.2, '%']],
    ['01 FB 2E 32', ['frequency', 5, 'Hz']],
    ['01 FB 58 07', ['flow temperature (°F)', 0.007, '°F']],
    ['02 FD 48 E6 08', ['voltage', 227.8, 'V']],
    ['02 FD 59 E6 08', ['current', 2.278, 'A']],
    ['01 0F 05', ['energy (J)', 50_000_000, 'J']],
    ['01 20 05', ['on time (s)', 5, 's']],
    ['01 22 05', ['on time', 5, 'h']],
    ['01 27 05', ['operating time (d)', 5, 'd']],
    ['01 93 75 05', ['volume', 0.0005, 'm³']],
    ['01 93 7D 05', ['volume', 5, 'm³']],
    ['01 DB 7B 05', ['flow temperature', 6, '°C']],
    ['02 AC FF 01 ED 00', ['power manufacturer specific 01', 2370, 'W']],
    ['02 FD C8 FC 01 E6 08', ['voltage phase L1', 227.8, 'V']],
    ['01 93 12 05', ['volume average', 0.005, 'm³']],
    ['02 93 39 E1 01', ['volume start', '2007-01-01', null]],
    ['01 93 40 05', ['volume lower limit', 0.005, 'm³']],
    ['01 93 49 05', ['volume exceeds of upper limit', 5, null]],
    ['02 93 4A E1 01', ['volume begin of first upper limit exceed', '2007-01-01', null]],
    ['01 93 5D 05', ['volume duration of last upper limit exceed (min)', 5, 'min']],
    ['01 93 15 05', ['volume', null, 'the meter says: no data available']],
    ['04 7C 03 68 57 6B 05 00 00 00', ['in kWh', 5, 'kWh']],
    ['01 EE 7F 05', ['heat cost allocation manufacturer specific', 5, 'HCA']],
    ['01 7F 05', ['manufacturer specific', null, null]],
    ['01 6F 05', ['unknown 6F', 5, null]],
    ['84 90 60 03 01 00 00 00', ['energy tariff 9 subunit 2', 1, 'Wh']],
    ['C4 02 03 01 00 00 00', ['energy storage 5', 1, 'Wh']],
    ['11 13 05', ['volume maximum', 0.005, 'm³']],
    ['21 13 05', ['volume minimum', 0.005, 'm³']],
    ['31 13 05', ['volume error', 0.005, 'm³']],
  ]
  for (const [text, expected] of rows) t.same(one(text), expected, text)
})

t.test('records that end too early, or say too much, leave those before them as they are', async (t) => {
  const good = '01 13 05'
  const rows: [string, RegExp][] = [
    ['04 13 01 02', /needs 4 bytes more at byte 5, and 2 are left/],
    ['84', /needs 1 bytes more/],
    ['04', /needs 1 bytes more/],
    ['04 FD', /needs 1 bytes more/],
    [`84 ${'80 '.repeat(11)} 13 05`, /more than 10 bytes of data information/],
    [`01 ${'93 '.repeat(1)}${'A0 '.repeat(11)} 20 05`, /more than 10 bytes of value information/],
    [`01 FF ${'81 '.repeat(11)} 01 05`, /more than 10 bytes of value information/],
    ['0D 13 CA', /the length CA of a record is reserved/],
    ['3F 13', /the data information 3F has no meaning/],
    ['0D 78 20 31', /needs 32 bytes more/],
  ]
  for (const [text, problem] of rows) {
    const cut = cutRecords(bytesOf(`${good} ${text}`))
    t.match(cut, { problem, hasMore: false }, text)
    t.equal(cut.records.length, 1, text)
    t.equal(cut.rest.length, bytesOf(text).length, text)
  }
})

t.test('other control information: errors, short headers, high byte first, encrypted, and what is none', async (t) => {
  const opened = (ci: number, text: string) => openTelegram(responseFrame(1, ci, bytesOf(text)))
  t.same(applicationError(responseFrame(1, 0x70, bytesOf('08'))), { code: 8, name: 'application too busy' })
  t.same(applicationError(responseFrame(1, 0x70, bytesOf(''))), { code: 0, name: 'unspecified error' })
  t.equal(applicationError(responseFrame(1, 0x72, bytesOf('08'))), null)
  t.match(opened(0x7a, '2A 10 00 00 01 13 05'), {
    meter: null,
    accessNumber: 42,
    status: ['temporary error'],
    records: [{ value: 0.005 }],
  })
  t.match(opened(0x78, '01 13 05'), { meter: null, accessNumber: null, records: [{ name: 'volume' }] })
  const highFirst = opened(0x76, '12 34 56 78 40 24 01 07 55 00 00 00 02 13 03 E8')
  t.match(highFirst, { meter: { id: '12345678', manufacturer: 'PAD' }, records: [{ value: 1 }] })
  const block = 'AA'.repeat(16)
  const encrypted = opened(0x72, `78 56 34 12 24 40 01 07 55 00 10 05 ${block}`)
  t.match(encrypted, { isEncrypted: true, records: [], problem: /encrypted/ })
  t.same(encrypted.rest, bytesOf(block))
  t.match(opened(0x72, '78 56 34 12 24 40 01 07 55 00 27 B6 01 13 05'), { records: [{ value: 0.005 }] }, 'a signature')
  t.match(opened(0x72, '78 56 34 12 24 40 01 07 55 00 10 05 01 13 05'), { isEncrypted: false, records: [{}] })
  t.match(opened(0x72, '78 56 34'), { meter: null, problem: /only 3 bytes/ })
  t.match(opened(0x73, '78 56 34'), { meter: null, problem: /only 3 bytes/ })
  t.match(opened(0xa0, '01'), { problem: /control information A0/, rest: bytesOf('01') })
  t.match(opened(0x77, '12 34 56 78 0A 00 E9 FF 00 00 00 01 00 00 01 35').records, [
    { name: 'volume', value: 0.001 },
    { name: 'number', value: 135, unit: null },
  ])
  t.match(opened(0x73, '78 56 34 12 0A 01 05 38 10 00 00 00 01 00 00 00').records, [
    { name: 'energy', value: 16_000, unit: 'Wh' },
    { name: 'temperature', value: 0.001, unit: '°C' },
  ])
  t.match(opened(0x73, '78 56 34 12 0A 00 05 38 AA 00 00 00 01 00 00 00').records[0], { value: null, problem: /AA/ })
})

t.test('random and mutated telegrams never throw, and say what they are', async (t) => {
  const golden = Object.values(telegrams).map(bytesOf)
  const check = (frame: Uint8Array) => {
    const { records, rest } = openTelegram(frame)
    const names = withOwnNames(records).map(({ name }) => name)
    const size = records.reduce((sum, { data, header }) => sum + data.length + header.length, rest.length)
    return new Set(names).size === names.length && size <= frame.length + 2 * records.length
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 252 }), fc.constantFrom(0x72, 0x73, 0x76, 0x77, 0x78, 0x7a), (data, ci) =>
      check(responseFrame(1, ci, data)),
    ),
    { numRuns: 4000 },
  )
  const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) })
  fc.assert(
    fc.property(fc.constantFrom(...golden), fc.array(change, { maxLength: 6 }), fc.nat(), (frame, changes, cut) => {
      const { ci = 0, data = new Uint8Array(0) } = openLongFrame(frame) ?? {}
      const mutated = data.slice(0, data.length - (cut % 3 === 0 ? cut % data.length : 0))
      for (const { at, byte } of changes) if (mutated.length > 0) mutated[at % mutated.length] = byte
      return check(responseFrame(1, ci, mutated))
    }),
    { numRuns: 4000 },
  )
  t.ok(golden.every(isWholeFrame))
})

t.test('a unit that a meter writes itself makes no two records alike, and no unprintable name', async (t) => {
  const [numbered, plain] = ['01 7C 04 32 23 20 78 01', '01 7C 01 78 02']
  const { records } = cutRecords(bytesOf([numbered, plain, plain, plain].join(' ')))
  t.same(
    withOwnNames(records).map(({ name }) => name),
    ['in x #2', 'in x', 'in x #3', 'in x #4'],
  )
  t.match(cutRecords(bytesOf('01 7C 03 0A 57 1B 05')).records, [{ name: 'in ?W?', unit: '?W?', value: 5 }])
})
