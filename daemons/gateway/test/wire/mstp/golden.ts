/** Frames whose bytes are known: from the annexes of the standard, and as another implementation makes them. */

interface Golden {
  title: string
  hex: string
  /** What it says; types by name, data as hex. */
  decoded: { frameType: string; destination: number; source: number; data: string }
}

/** @source ANSI/ASHRAE 135-2016, Annex G.1 and G.2; those without a clause made by bacnet-stack (August 2026) */
export const golden: readonly Golden[] = [
  {
    title: 'Annex G.1: a token from 5 to 16',
    hex: '55 FF 00 10 05 00 00 8C',
    decoded: { frameType: 'TOKEN', destination: 16, source: 5, data: '' },
  },
  {
    title: 'a poll for master',
    hex: '55 FF 01 06 05 00 00 B1',
    decoded: { frameType: 'POLL_FOR_MASTER', destination: 6, source: 5, data: '' },
  },
  {
    title: 'its reply',
    hex: '55 FF 02 05 06 00 00 0B',
    decoded: { frameType: 'REPLY_TO_POLL_FOR_MASTER', destination: 5, source: 6, data: '' },
  },
  {
    title: 'a test with data',
    hex: '55 FF 03 09 01 00 03 27 01 22 30 10 BD',
    decoded: { frameType: 'TEST_REQUEST', destination: 9, source: 1, data: '01 22 30' },
  },
  {
    title: 'a reply that is postponed',
    hex: '55 FF 07 01 09 00 00 B0',
    decoded: { frameType: 'REPLY_POSTPONED', destination: 1, source: 9, data: '' },
  },
  {
    title: 'Annex G.2: data 01 22 30, to everybody',
    hex: '55 FF 06 FF 00 00 03 E5 01 22 30 10 BD',
    decoded: { frameType: 'BACNET_DATA_NOT_EXPECTING_REPLY', destination: 255, source: 0, data: '01 22 30' },
  },
  {
    title: 'who-is, to everybody',
    hex: '55 FF 06 FF 03 00 08 B6 01 20 FF FF 00 FF 10 08 15 B6',
    decoded: {
      frameType: 'BACNET_DATA_NOT_EXPECTING_REPLY',
      destination: 255,
      source: 3,
      data: '01 20 FF FF 00 FF 10 08',
    },
  },
  {
    title: 'a request for a property',
    hex: '55 FF 05 09 03 00 0D FE 01 04 02 44 07 0C 0C 00 00 00 00 19 55 4E A1',
    decoded: {
      frameType: 'BACNET_DATA_EXPECTING_REPLY',
      destination: 9,
      source: 3,
      data: '01 04 02 44 07 0C 0C 00 00 00 00 19 55',
    },
  },
  {
    title: 'a frame of a vendor',
    hex: '55 FF C8 09 03 00 03 87 01 22 30 10 BD',
    decoded: { frameType: 'PROPRIETARY_200', destination: 9, source: 3, data: '01 22 30' },
  },
]

/**
 * BACNET_EXTENDED_DATA_EXPECTING_REPLY from 3 to 9 with 520 octets, each its place modulo 251: length and SHA-256 of the
 * whole frame. @source made by bacnet-stack (August 2026)
 */
export const goldenExtended = {
  bytes: 534,
  sha256: 'f9e4c63cc12ab50146ce58c2cd5d05f41fd5a94c7e749cdaa7b41ec74b554ff2',
} as const
