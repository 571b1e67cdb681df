"""Units and currencies: which dimension each belongs to, and how it converts to the unit of that dimension."""

from functools import lru_cache
from typing import NamedTuple

from enricher.grounding.lexicon import joined_lines
from enricher.grounding.tokens import fold


class Unit(NamedTuple):
    """A unit of measure. A value in it times `factor` plus `offset` is the value in the unit of its dimension."""

    dimension: str
    name: str
    factor: float = 1.0
    offset: float = 0.0


# dimension: entries of `factor[+offset]=spelling,spelling ...`; the first spelling is the name. Case counts for
# spellings with a capital letter or of one or two letters, because "m" and "M", "mb" and "MB" differ.
_TABLE = """
length: 0.001=mm,millimetre,millimetres,millimeter,millimeters 0.01=cm,centimetre,centimetres,centimeter,
  centimeters,zentimeter,厘米,センチ,センチメートル,سم,सेंटीमीटर,centímetros,centimètres 1=m,metre,metres,meter,
  meters,mètre,
  mètres,metro,metros,metri,米,メートル,متر,أمتار,मीटर 1000=km,kms,kilometre,
  kilometres,kilometer,kilometers,kilomètre,kilomètres,kilómetros,chilometri,公里,千米,キロメートル,كم,كيلومتر,
  كيلومترات,
  किलोमीटर,किमी,quilômetros,quilómetros 0.0254=inch,inches,
  zoll,in. 0.3048=foot,feet,ft 0.9144=yard,yards,yd 1609.344=mile,miles,mi,meile,meilen,milles,millas
  1852=nautical_mile,nautical_miles,nmi
mass: 0.000001=mg,milligram,milligrams,milligramm 0.000000001=µg,mcg,μg,microgram,micrograms 0.001=g,gram,grams,
  gramme,grammes,gramm,gramos,gramas,克,グラム,غرام,جرام,ग्राम 1=kg,kilo,kilos,kilogram,kilograms,kilogramme,kilogramm,
  公斤,千克,キロ,キログラム,كجم,كغ,كيلوغرام,كيلوجرام,किलो,किलोग्राम,quilo,quilos,kilos 1000=tonne,tonnes,t,吨,トン,طن,
  टन,
  ton,tons,tonnen 0.028349523=ounce,ounces,oz,unze 0.45359237=pound_mass,lb,lbs 6.35029=stone_mass
volume: 0.001=ml,mL,millilitre,millilitres,milliliter,milliliters 0.01=cl,cL 0.1=dl,dL 1=l,L,litre,litres,liter,
  liters,litro,litros,litri,升,リットル,لتر,लीटर 3.785412=gallon,gallons,gal 0.473176=pint,pints 1000=m³,m3,
  cubic_metre,
  cubic_metres,cubic_meter,cubic_meters,kubikmeter
area: 1=m²,m2,sqm,square_metre,square_metres,square_meter,square_meters,quadratmeter,qm 1000000=km²,km2,
  square_kilometre,square_kilometres,square_kilometer,square_kilometers,quadratkilometer 10000=hectare,hectares,
  ha,hektar 4046.856=acre,acres 0.09290304=square_foot,square_feet,sqft,sq_ft 2589988=square_mile,square_miles
temperature: 1=°C,celsius,degrees_celsius,degree_celsius,grad_celsius,℃ 0.5555555556+-17.7777777778=°F,
  fahrenheit,degrees_fahrenheit,degree_fahrenheit,℉ 1+-273.15=kelvin,K
speed: 1=km/h,kmh,kph,kilometres_per_hour,kilometers_per_hour 1.609344=mph,miles_per_hour 3.6=m/s,
  metres_per_second,meters_per_second 1.852=knot,knots
data: 1=byte,bytes,B 1000=KB,kB,kilobyte,kilobytes 1000000=MB,megabyte,megabytes 1000000000=GB,gigabyte,
  gigabytes 1000000000000=TB,terabyte,terabytes 1048576=MiB 1073741824=GiB
energy: 1=kWh,kilowatt_hour,kilowatt_hours,kilowattstunden 1000=MWh 0.001=Wh 0.0002777778=kJ 0.001163=kcal
power: 1=W,watt,watts 1000=kW,kilowatt,kilowatts 1000000=MW,megawatt,megawatts 735.5=hp,PS,horsepower
pressure: 1=bar,bars 0.001=mbar,hPa 0.01=kPa 10=MPa 0.0689476=psi
voltage: 1=V,volt,volts 0.001=mV 1000=kV
current: 1=A,ampere,amperes,amp,amps 0.001=mA
frequency: 1=Hz,hertz 1000=kHz 1000000=MHz 1000000000=GHz
duration: 1.1574074e-8=ms,millisecond,milliseconds 1.1574074074e-5=second,seconds,sec,secs,sekunde,sekunden,
  seconde,secondes,segundos,secondi,秒 6.9444444444e-4=minute,minutes,min,mins,minuten,minuto,minutos,minuti,分钟,
  分間,دقيقة,دقائق,मिनट 0.0416666666667=hour,hours,hr,hrs,h,std,stunde,stunden,heure,heures,hora,horas,ora,ore,小时,
  小時,
  時間,ساعة,ساعات,घंटे,घंटा 1=day,days,
  tag,tage,tagen,jour,jours,día,días,giorno,giorni,dia,dias,dag,dagen,天,日間,日,يوم,يوما,أيام,दिन,дней,дня,день,
  dni,dzień 7=week,weeks,wk,woche,wochen,semaine,semaines,semana,semanas,settimana,settimane,weken,周,週間,星期,
  أسبوع,أسابيع,सप्ताह,हफ्ते,हफ़्ते,недель,недели
workdays: 1=working_day,working_days,business_day,business_days,workday,workdays,arbeitstag,arbeitstage,
  arbeitstagen,werktag,werktage,werktagen,bankarbeitstage,jours_ouvrés,jours_ouvrables,días_hábiles,
  días_laborables,giorni_lavorativi,dias_úteis,werkdagen,工作日,営業日
months: 1=month,months,monat,monate,monaten,mois,mes,meses,mese,mesi,mês,maand,maanden,个月,個月,か月,ヶ月,カ月,ヵ月,
  ケ月,
  شهر,أشهر,شهرا,شهور,महीने,महीना,महीनों,माह,
  месяцев,месяца,месяц 3=quarter_year,quarters,quartale,trimestres 12=year,years,yr,yrs,jahr,
  jahre,jahren,an,ans,année,années,año,años,anno,anni,ano,anos,jaar,年間,年,سنة,سنوات,वर्ष,साल,лет,года,год,lata,lat
  120=decade,decades 1200=century,centuries
ratio: 0.01=percent,per_cent,%,％,pct,prozent,pourcent,pour_cent,por_ciento,por_cento,percento,per_cento,procent,
  بالمئة,بالمائة,प्रतिशत,パーセント
  0.001=‰,promille,per_mille
points: 1=percentage_point,percentage_points,prozentpunkt,prozentpunkte,points_de_pourcentage
money:EUR: 1=euro,EUR,euros,€,欧元,ユーロ,يورو,यूरो 0.01=eurocent
money:$: 1=dollar,$,dollars,bucks,دولار,دولارات,डॉलर,dólar,dólares
money:USD: 1=USD,US$,美元,ドル,美金
money:GBP: 1=pound,GBP,£,pounds,sterling,英镑,ポンド,جنيه,पाउंड 0.01=pence
money:CHF: 1=franc,CHF,francs,franken,SFr
money:JPY: 1=yen,JPY,円,日元,日圓
money:CNY: 1=yuan,CNY,RMB,元,人民币,块,块钱
money:¥: 1=¥,￥
money:INR: 1=rupee,INR,₹,rupees,Rs,रुपये,रुपया,रुपए,रु
money:CAD: 1=CAD,C$,CA$
money:AUD: 1=AUD,A$,AU$
money:SEK: 1=SEK
money:NOK: 1=NOK
money:DKK: 1=DKK
money:PLN: 1=zloty,PLN,zł
money:BRL: 1=BRL,R$,reais
money:KRW: 1=won,KRW,₩
money:RUB: 1=rouble,RUB,₽,rubles,roubles
money:BTC: 1=BTC,bitcoin,bitcoins
money:cent: 1=cent,cents,¢
"""

CURRENCY_MARKS = r"US\$|CA?\$|AU?\$|R\$|[€$£¥￥₹₩₽]"
ALTERNATIVE_CURRENCIES = {"$": {"USD", "CAD", "AUD"}, "¥": {"JPY", "CNY"}}
MONTHS_TO_DAYS = 30.436875


def _read_table() -> tuple[dict[str, Unit], dict[str, Unit]]:
    exact: dict[str, Unit] = {}
    folded: dict[str, Unit] = {}
    for line in joined_lines(_TABLE.replace(",\n  ", ",")):
        dimension, _, entries = line.partition(": ")
        for entry in entries.split():
            conversion, _, spellings = entry.partition("=")
            factor, _, offset = conversion.partition("+")
            names = [spelling.replace("_", " ") for spelling in spellings.split(",")]
            unit = Unit(dimension, names[0], float(factor), float(offset or 0))
            for name in names:
                exact.setdefault(name, unit)
                if name == name.lower() and len(name) > 2:
                    folded.setdefault(fold(name), unit)
    return exact, folded


_EXACT, _FOLDED = _read_table()
# Units that follow a number without a space in scripts that write none, longest first.
UNSPACED_UNITS = tuple(sorted((name for name in _EXACT if "\u3040" <= name[0] <= "\u9fff"), key=len, reverse=True))


@lru_cache(maxsize=10_000)
def find_unit(spelling: str) -> Unit | None:
    """Return the unit that is spelled so, or None."""
    return _EXACT.get(spelling) or _FOLDED.get(fold(spelling.rstrip(".")))
