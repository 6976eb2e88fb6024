/** Tables of the controller itself: what it reaches others with, its settings, its records. */
import { flag, integer, json, jsonWithSecrets, label, reference, secret, table, text, time } from './column.ts'

export const systemTables = [
  table('credential', [
    label(),
    text('type'),
    text('username'),
    secret('password'),
    secret('private_key'),
    secret('bearer_token'),
    secret('credential_hash'),
  ]),
  table('web_service', [
    label(),
    text('url'),
    text('method'),
    reference('credential_id', 'credential'),
    jsonWithSecrets('headers'),
    text('body'),
    secret('api_key'),
    secret('secret'),
    text('version'),
  ]),
  table(
    'license',
    [text('key_hint'), text('plan'), text('state'), json('features'), time('valid_until'), secret('token')],
    { key: ['key_hint'] },
  ),
  table('setting', [label('key', { isUnique: true }), text('value')], { label: 'key' }),
  table(
    'request_history',
    [
      time('at'),
      text('request_type'),
      text('method'),
      text('path'),
      integer('status'),
      integer('elapsed_ms'),
      text('client_ip'),
      reference('user_id', 'auth_user'),
      text('username'),
      flag('granted', false),
      text('reason'),
      text('target'),
      reference('run_id', 'macro_run'),
      text('action'),
      text('outcome'),
      text('detail'),
    ],
    { keeping: 'audit' },
  ),
  table(
    'mail_queue',
    [
      text('recipient'),
      text('subject'),
      // Holds codes of the second factor.
      secret('body'),
      integer('tries', { isRequired: true, default: 0 }),
      time('next_at'),
      time('sent_at'),
      text('error'),
    ],
    { keeping: 'record' },
  ),
  table(
    'pending_change',
    [
      text('kind', { isRequired: true, choices: ['add', 'change', 'remove'] }),
      label('entity'),
      integer('row_id', { isRequired: true }),
      // Whole rows, hashes and passwords among them.
      json('columns', { isSecret: true }),
      text('summary'),
      text('author'),
    ],
    { keeping: 'inner' },
  ),
  table('schema_migration', [integer('version', { isRequired: true }), label()], { keeping: 'inner' }),
]
