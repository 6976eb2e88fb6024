/** Tables of sound and vision: sources, the zones they go to, channels. */
import { flag, integer, json, jsonWithSecrets, label, owner, real, reference, table, text } from './column.ts'

export const avTables = [
  table('av_source', [
    label(),
    reference('device_id', 'device'),
    text('input'),
    text('icon'),
    integer('position'),
    // Where a camera's picture is fetched, with what it asks for.
    jsonWithSecrets('stream'),
  ]),
  table('av_zone', [
    label(),
    reference('zone_id', 'zone'),
    reference('device_id', 'device'),
    text('output'),
    reference('source_id', 'av_source'),
    real('volume'),
    flag('mute', false),
    real('max_volume'),
    real('default_volume'),
  ]),
  table('channel_provider', [label(), text('type'), text('country'), jsonWithSecrets('config')]),
  table(
    'channel',
    [
      owner('provider_id', 'channel_provider'),
      // Radio counts in parts: 101.3.
      real('number'),
      label(),
      text('logo'),
      flag('favourite', false),
      reference('av_source_id', 'av_source'),
      json('command_args'),
    ],
    { key: ['provider_id', 'name'] },
  ),
]
