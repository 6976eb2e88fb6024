/** Recorded output of pmc 3.1.1 for a slave. */

export const SLAVE = `sending: GET TIME_STATUS_NP
\t7eec02.fffe.3233f2-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP \n\t\tmaster_offset              -533
\t\tingress_time               1795307324798724586
\t\tcumulativeScaledRateOffset +0.000000000
\t\tscaledLastGmPhaseChange    0
\t\tgmTimeBaseIndicator        0
\t\tlastGmPhaseChange          0x0000'0000000000000000.0000
\t\tgmPresent                  true
\t\tgmIdentity                 5a9537.fffe.1e80f7
sending: GET CURRENT_DATA_SET
\t7eec02.fffe.3233f2-0 seq 1 RESPONSE MANAGEMENT CURRENT_DATA_SET \n\t\tstepsRemoved     1
\t\toffsetFromMaster -533.0
\t\tmeanPathDelay    3157.0
sending: GET PARENT_DATA_SET
\t7eec02.fffe.3233f2-0 seq 2 RESPONSE MANAGEMENT PARENT_DATA_SET \n\t\tparentPortIdentity                    5a9537.fffe.1e80f7-1
\t\tparentStats                           0
\t\tobservedParentOffsetScaledLogVariance 0xffff
\t\tobservedParentClockPhaseChangeRate    0x7fffffff
\t\tgrandmasterPriority1                  100
\t\tgm.ClockClass                         248
\t\tgm.ClockAccuracy                      0xfe
\t\tgm.OffsetScaledLogVariance            0xffff
\t\tgrandmasterPriority2                  128
\t\tgrandmasterIdentity                   5a9537.fffe.1e80f7
sending: GET DEFAULT_DATA_SET
\t7eec02.fffe.3233f2-0 seq 3 RESPONSE MANAGEMENT DEFAULT_DATA_SET \n\t\ttwoStepFlag             1
\t\tslaveOnly               0
\t\tnumberPorts             1
\t\tpriority1               128
\t\tclockClass              248
\t\tclockAccuracy           0xfe
\t\toffsetScaledLogVariance 0xffff
\t\tpriority2               128
\t\tclockIdentity           7eec02.fffe.3233f2
\t\tdomainNumber            0
sending: GET PORT_DATA_SET
\t7eec02.fffe.3233f2-1 seq 4 RESPONSE MANAGEMENT PORT_DATA_SET \n\t\tportIdentity            7eec02.fffe.3233f2-1
\t\tportState               UNCALIBRATED
\t\tlogMinDelayReqInterval  0
\t\tpeerMeanPathDelay       0
\t\tlogAnnounceInterval     1
\t\tannounceReceiptTimeout  3
\t\tlogSyncInterval         -3
\t\tdelayMechanism          1
\t\tlogMinPdelayReqInterval 0
\t\tversionNumber           2
sending: GET TIME_PROPERTIES_DATA_SET
\t7eec02.fffe.3233f2-0 seq 5 RESPONSE MANAGEMENT TIME_PROPERTIES_DATA_SET \n\t\tcurrentUtcOffset      37
\t\tleap61                0
\t\tleap59                0
\t\tcurrentUtcOffsetValid 0
\t\tptpTimescale          0
\t\ttimeTraceable         0
\t\tfrequencyTraceable    0
\t\ttimeSource            0xa0
sending: GET GRANDMASTER_SETTINGS_NP
\t7eec02.fffe.3233f2-0 seq 6 RESPONSE MANAGEMENT GRANDMASTER_SETTINGS_NP \n\t\tclockClass              248
\t\tclockAccuracy           0xfe
\t\toffsetScaledLogVariance 0xffff
\t\tcurrentUtcOffset        37
\t\tleap61                  0
\t\tleap59                  0
\t\tcurrentUtcOffsetValid   0
\t\tptpTimescale            0
\t\ttimeTraceable           0
\t\tfrequencyTraceable      0
\t\ttimeSource              0xa0
`
