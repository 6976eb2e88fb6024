/** The settings of what several update servers share. */
import { type Static, Type } from 'typebox'
import { bytes, count, milliseconds } from '#kit/pure/setting-keys.ts'
import { bucketSentence, endpointSentence, postgresSentence } from '../wire/store-address.ts'

export const storeTable = Type.Object(
  {
    url: Type.String({
      default: '',
      maxLength: 1024,
      check: postgresSentence,
      secret: true,
      description:
        'database of PostgreSQL that several update servers share, postgres://USER@HOST:PORT/DATABASE; empty: updates.db of the state folder, for one alone',
    }),
    password_file: Type.String({
      default: '',
      maxLength: 4096,
      description:
        'file whose first line is the password of the account, read at each connection; empty: the one of the url',
    }),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description: 'PEM file of further certificate authorities for the database',
    }),
    connect_ms: milliseconds(5000, 100, 600_000, 'time in which the database takes a connection'),
    answer_ms: milliseconds(
      10_000,
      100,
      600_000,
      'time in which it answers, the wait for the change of another server included',
    ),
    follow_ms: milliseconds(
      1000,
      50,
      600_000,
      'how often is looked what others wrote, where the database has not told it',
    ),
    waiting: count(256, 1, 65_536, 'changes that wait for their turn; further ones are answered 503'),
    retry_first_ms: milliseconds(250, 10, 600_000, 'wait before a lost database is tried again; doubles each time'),
    retry_max_ms: milliseconds(5000, 10, 3_600_000, 'longest such wait'),
  },
  { additionalProperties: false, default: {}, description: 'where records are kept' },
)

export type StoreConfig = Static<typeof storeTable>

export const blobsTable = Type.Object(
  {
    url: Type.String({
      default: '',
      maxLength: 640,
      check: bucketSentence,
      description:
        'bucket of an S3 server that keeps the published files, s3://BUCKET or s3://BUCKET/PREFIX; empty: the folder of storage',
    }),
    endpoint: Type.String({
      default: '',
      maxLength: 300,
      check: endpointSentence,
      description: 'the S3 server, https://HOST:PORT; empty: the one of Amazon in the region',
    }),
    region: Type.String({
      default: 'us-east-1',
      pattern: '^[a-z0-9-]{1,64}$',
      description: 'region of the bucket; servers of other makers mostly take us-east-1',
    }),
    access_key: Type.String({
      default: '',
      // All signs but those that end it in the header of a signed request: OpenStack Swift has account:user.
      pattern: '^[!-+.0-<>-~-]{0,128}$',
      description: 'name of the account, its access key ID',
    }),
    secret_file: Type.String({
      default: '',
      maxLength: 4096,
      description: 'file whose first line is the secret access key, read at each request',
    }),
    ca_file: Type.String({
      default: '',
      maxLength: 4096,
      description: 'PEM file of further certificate authorities for the S3 server',
    }),
    part_bytes: bytes(
      5_242_880,
      5_242_880,
      1_073_741_824,
      'what is sent to the bucket at once, of 10,000 parts at most',
    ),
    answer_ms: milliseconds(
      30_000,
      100,
      600_000,
      'time in which the S3 server begins its answer, and in which more of it comes',
    ),
    tries: count(3, 1, 20, 'how often one request is made before it has failed'),
    retry_first_ms: milliseconds(250, 10, 600_000, 'wait before it is made again; doubles each time'),
    retry_max_ms: milliseconds(5000, 10, 3_600_000, 'longest such wait'),
  },
  { additionalProperties: false, default: {}, description: 'a bucket that keeps the published files' },
)
