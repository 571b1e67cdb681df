"""Word tables: which words mean the same, across a few languages, which are opposites, and which carry no content."""

# One concept a line, indented lines go on with it: words that may stand for one another in a claim and its evidence,
# translations included. Words are stemmed when the table is read, so one form is enough. Kept tight: a wrong synonym
# makes a false sentence look true.
CONCEPTS = """
refund reimburse repay repayment moneyback erstatten erstattung rückerstattung rückzahlung rembourser remboursement
  reembolso reembolsar rimborso rimborsare
buy purchase bought acquire acquisition kaufen kauf gekauft erwerben erwerb acheter achat acquérir acheté comprar
  compra comprado adquirir acquisto acquistare
sell sold sale verkaufen verkauf vendre vente vendu vender venta vendita
cost price fee charge charges tariff preis kosten kostet gebühr gebühren entgelt prix coût coûter tarif frais precio
  costo coste costar tarifa prezzo costare
once einmalig einmal
pay paid payment zahlen bezahlen zahlung bezahlt payer paiement payé pagar pago pagamento pagare
free gratis kostenlos kostenfrei unentgeltlich gratuit gratuitement gratuito complimentary
allow permit allowed permission erlaubt erlauben gestattet zulässig zugelassen autorisé permis permettre permitido
  permitir autorizado consentito permesso
prohibit forbid forbidden ban banned verboten untersagt verbot unzulässig interdit interdire défendu prohibido
  prohibir vietato
notice kündigungsfrist préavis preaviso preavviso
terminate cancel cancellation termination rescind kündigen kündigung stornieren stornierung résilier résiliation
  annuler annulation cancelar cancelación rescindir annullare disdire
return returns rückgabe rücksendung zurückgeben retourner retour retours devolver devolución reso restituire
deliver delivery ship shipping shipment dispatch lieferung liefern versand versenden livraison livrer expédier
  expédition entrega entregar envío enviar consegna spedizione
order orders bestellung bestellen commande commander pedido ordine
deadline frist délai plazo termine scadenza
period duration term timeframe timespan dauer zeitraum laufzeit durée période periodo duración periodo durata
last lasts dauert gilt dure durer dura durar
month months monat monate mois mes meses mese mesi
week weeks woche wochen semaine semaines semana semanas settimana settimane
year years annual annually yearly jahr jahre an ans année années año años anno anni
day days daily tag tage täglich jour jours día días giorno giorni
hour hours stunde stunden heure heures hora horas ora ore
quarter quarterly quartal quartalsende trimestre
end finish conclude conclusion ending completion ende beenden fin finir terminer final fine finire
begin start commence commencement onset initiate beginn beginnen anfang début commencer débuter empezar comenzar
  inicio iniciar inizio iniziare
open opening opens öffnen geöffnet öffnungszeiten ouvert ouvrir ouverture abierto abrir apertura aperto aprire
close closed closing shut geschlossen schließen fermé fermer fermeture cerrado cerrar cierre chiuso chiudere
company firm corporation enterprise business unternehmen firma gesellschaft entreprise société empresa compañía
  azienda società
contract agreement vertrag vereinbarung contrat accord contrato acuerdo contratto accordo
customer client buyer purchaser shopper kunde kunden kundin client clients cliente clientes
employee worker staff personnel mitarbeiter angestellte arbeitnehmer beschäftigte salarié empleado trabajador dipendente
employer arbeitgeber employeur empleador
landlord lessor vermieter bailleur propriétaire arrendador
tenant lessee renter mieter locataire inquilino arrendatario
rent rental lease miete mieten loyer louer alquiler alquilar affitto
deposit kaution anzahlung caution acompte fianza depósito caparra
warranty guarantee garantie gewährleistung garantía garanzia
ticket fahrkarte fahrschein eintrittskarte billet billete biglietto
valid validity gültig gültigkeit valable valide validité válido validez valido
insurance insure versicherung versichert assurance assurer seguro asegurar assicurazione
tax taxes duty steuer steuern impôt impôts taxe impuesto impuestos tassa
salary wage wages pay gehalt lohn salaire salario sueldo stipendio
car vehicle automobile auto wagen fahrzeug pkw voiture véhicule coche vehículo automóvil macchina veicolo
house home dwelling residence haus wohnhaus maison casa hogar
apartment flat wohnung appartement departamento appartamento
doctor physician medic arzt ärztin médecin docteur médico dottore medico
illness disease sickness ailment krankheit maladie enfermedad malattia
medicine drug medication medikament arznei arzneimittel médicament medicamento farmaco
patient patienten patientin paciente paziente
child children kid kids kind kinder enfant enfants niño niños bambino bambini minor
adult adults grownup erwachsene erwachsener adulte adulto
person people persons individual individuals human person personen leute menschen personne personnes gens persona
  personas gente persone
inhabitant resident inhabitants population einwohner bewohner bevölkerung habitant habitants habitante población
  abitante abitanti
smoke smoking rauchen tabagisme fumer fumar fumare
dog dogs hund hunde chien chiens perro perros cane cani
school schule école escuela scuola
book buch bücher livre livres libro libros libri
city town stadt ville ciudad città
country nation land pays país paese
capital hauptstadt capitale
government regierung gouvernement gobierno governo
law statute legislation act gesetz loi ley legge
court tribunal gericht cour corte
judge richter juge juez giudice
murder kill killed slay homicide töten ermorden tuer assassiner matar asesinar
die died death dead deceased gestorben sterben tod mourir mort décès morir muerte morte
born birth geboren geburt né née naissance nacer nacido nacimiento nato
found founded establish established foundation create created gründen gegründet fonder fondé fundar fundado fondare
  fondato
build built construct construction erect bauen gebaut errichtet construire construit construir construido costruire
increase rise rose risen raise raised grow grew grown growth climb climbed gain steigen anstieg erhöhen erhöhung
  gestiegen augmenter augmentation hausse aumentar aumento subir
decrease reduce reduction fall fell fallen decline drop lower lowered shrink shrank diminish cut sinken rückgang
  senken gesunken diminuer diminution baisse réduire disminuir disminución reducir bajar
large big huge great vast groß grosse grand grande gran
small little tiny minor klein petit pequeño piccolo
long lang longueur longue long largo length lungo
high tall height hoch höhe haut hauteur alto altura
heavy weigh weight mass schwer gewicht wiegt lourd poids peser pesado peso pesar
speed velocity pace geschwindigkeit vitesse velocidad velocità
fast quick quickly rapid rapidly swift schnell rapide rápido veloce
expensive costly pricey teuer cher chère caro
cheap inexpensive affordable billig günstig bon-marché barato economico
must shall obliged obligation mandatory compulsory required require obligatory requirement pflicht verpflichtet muss
  müssen erforderlich obligatoire doit obligatorio debe requerido obbligatorio deve
need needs necessary necessity benötigt notwendig nötig brauchen nécessaire besoin necesario necesitar necessario
use utilize utilise usage verwenden nutzen benutzen nutzung verwendung utiliser utilisation usar utilizar uso utilizzo
help assist aid assistance hilfe helfen unterstützen aide aider ayudar ayuda aiuto
show display demonstrate indicate reveal zeigen montrer indiquer mostrar indicar mostrare
say said tell told report reported claim claimed mention mentioned sagen sagte dire dit decir dijo dire detto
give gave given provide supply offer grant granted geben bieten gewähren gewährt anbieten donner fournir offrir
  accorder dar proporcionar ofrecer otorgar dare fornire offrire
receive get got obtain erhalten bekommen recevoir obtenir recibir obtener ricevere ottenere
send sent mail senden schicken envoyer enviar inviare
write wrote written author authored schreiben geschrieben verfasst écrire écrit escribir escrito scrivere scritto
live lives reside dwell wohnen leben habiter vivre vivir residir vivere
work works job arbeiten arbeit travailler travail trabajar trabajo lavorare lavoro
leave left depart departure verlassen abfahrt partir départ salir salida partire partenza
arrive arrival reach reached ankunft ankommen arriver arrivée llegar llegada arrivare arrivo
meet met meeting treffen rencontrer réunion encontrar reunión incontrare
win won victory triumph gewinnen gewonnen gagner victoire ganar victoria vincere vittoria
lose lost loss verlieren verloren verlust perdre perdu perte perder perdido pérdida
improve improvement better enhance enhancement ameliorate verbessern verbesserung améliorer amélioration mejorar
  mejora migliorare
worsen worse deteriorate deterioration verschlechtern empirer empeorar
fix repair mend reparieren reparatur réparer réparation reparar reparación riparare
damage harm beschädigen schaden schäden endommager dommage daño dañar danno
fail failed failure ausfallen versagen échouer échec fallar fallo fallire
succeed success successful erfolgreich erfolg réussir succès éxito
error mistake fault fehler erreur faute error errore
problem issue difficulty trouble problème problema
answer reply respond response antwort antworten réponse répondre respuesta responder risposta
question query frage pregunta domanda
change alter modify modification amend amendment adjust ändern änderung changer modifier changement cambiar modificar
  cambio modifica cambiare
replace substitute supersede ersetzen remplacer reemplazar sostituire
remove delete eliminate erase entfernen löschen supprimer enlever eliminar borrar rimuovere
add append include included including contain contains comprise consist hinzufügen enthalten enthält beinhaltet
  ajouter inclure contenir comprendre añadir incluir contener incluye includere
exclude omit ausgeschlossen ausschließen exclure excluir escludere
accept approve approved approval consent agree agreed annehmen akzeptieren genehmigen genehmigt zustimmen accepter
  approuver aceptar aprobar accettare approvare
reject refuse deny denied decline declined refusal ablehnen abgelehnt refuser rejeter rechazar negar rifiutare
check verify inspect examine examination inspection prüfen überprüfen kontrollieren vérifier contrôler verificar
  comprobar verificare
inform notify notification tell informieren mitteilen benachrichtigen informer notifier informar notificar informare
request demand application ask beantragen antrag anfordern demander demande solicitar solicitud richiedere richiesta
submit file lodge einreichen eingereicht soumettre déposer presentar presentare
objection oppose opposition widerspruch einspruch opposition objeción
store keep retain preserve aufbewahren lagern lagerung conserver stocker almacenar conservar guardar conservare
protect protection safeguard schützen schutz protéger protection proteger protección proteggere
safe secure safety security sicher sicherheit sûr sécurité seguro seguridad sicuro sicurezza
danger dangerous hazard hazardous gefahr gefährlich dangereux peligro peligroso pericolo
risk risky risiko risque riesgo rischio
water wasser eau agua acqua
waterproof watertight wasserdicht étanche impermeable
train zug züge treno tren
station bahnhof gare estación stazione
flight flug vol vuelo volo
room zimmer raum räume chambre salle habitación sala stanza camera
door tür türen porte puerta porta
entry entrance admission eintritt einlass eingang entrée entrada ingresso
visitor guest besucher gast gäste visiteur visitante huésped ospite
member mitglied mitglieder membre membres miembro miembros socio membro
senior seniors pensioner retiree elderly rentner senioren retraité jubilado anziano
student pupil schüler studierende étudiant élève estudiante alumno studente
teacher lehrer professeur enseignant profesor maestro insegnante
revenue turnover sales umsatz umsätze einnahmen chiffre-d'affaires recettes ingresos fatturato ricavi
profit earnings gewinn bénéfice profit beneficio ganancia utile profitto
debt schulden dette deuda debito
loan credit kredit darlehen prêt crédit préstamo crédito prestito
account konto compte cuenta conto
bank banque banco banca
total sum overall altogether insgesamt gesamt summe total totale
average durchschnitt durchschnittlich moyenne moyen promedio media
minimum mindestens mindest least minimal lowest minimo mínimo
maximum maximal höchstens höchst upmost highest massimo máximo
monday montag lundi lunes lunedì
tuesday dienstag mardi martes martedì
wednesday mittwoch mercredi miércoles mercoledì
thursday donnerstag jeudi jueves giovedì
friday freitag vendredi viernes venerdì
saturday samstag sonnabend samedi sábado sabato
sunday sonntag dimanche domingo domenica
morning morgen vormittag matin mañana mattina
evening abend soir tarde sera
night nacht nuit noche notte
product item article goods merchandise produkt ware waren artikel produit marchandise producto artículo mercancía
  prodotto merce
device appliance equipment machine gerät geräte appareil dispositif dispositivo aparato apparecchio
battery akku batterie batería batteria
password passwort kennwort mot-de-passe contraseña
email mail e-mail courriel correo
phone telephone telefon handy téléphone teléfono telefono
website webseite internetseite site sitio sito
software programm logiciel programa programma
file datei fichier archivo
data daten données datos dati
user users nutzer benutzer anwender utilisateur usuario utente
version release fassung versión versione
update updated refresh aktualisieren aktualisiert aktualisierung mettre-à-jour actualizar actualizado aggiornare
  aggiornato
expire expiry expiration lapse ablaufen abgelaufen expirer expiration caducar vencer vencimiento scadere
renew renewal extend extension verlängern verlängerung renouveler prolonger renovar prorrogar rinnovare
policy rule regulation guideline richtlinie regel vorschrift règle règlement política regla norma regola
party parties partei parteien partie parte partes
person-in-charge responsible liability liable haftung haftbar haftet verantwortlich responsable responsabilité
  responsabilidad responsabile
court-case case lawsuit litigation claim klage procès demanda causa
penalty fine fines bußgeld strafe geldstrafe amende pénalité multa sanción sanzione
dose dosage dosis dosierung posologie dosis dose
symptom symptoms symptome symptôme síntoma sintomo
treat treatment therapy behandeln behandlung therapie traiter traitement thérapie tratar tratamiento trattamento
surgery operation operate operieren chirurgie opération cirugía operación chirurgia
side-effect nebenwirkung
study trial research studie forschung étude recherche estudio investigación studio ricerca
scientist researcher forscher wissenschaftler chercheur científico investigador
film movie cinema picture película
song track chanson canción
war krieg guerre guerra
army military armee militär armée ejército esercito
king könig roi rey re
president präsident président presidente
leader head chief boss director chef leiter directeur jefe director capo
wife spouse husband married marry marriage wed ehefrau ehemann verheiratet heiraten épouse mari marier esposa marido
  casado casar
father vater père padre
mother mutter mère madre
brother bruder frère hermano fratello
sister schwester sœur hermana sorella
son sohn fils hijo figlio
daughter tochter fille hija figlia
friend freund ami amigo amico
street road straße strasse rue calle strada via
north northern nord norden norte
south southern süd süden sud sur
east eastern ost osten est este
west western westen ouest oeste ovest
usa america american americans us amerika états-unis
uk britain british england
germany german deutschland deutsch allemagne alemania germania
france french frankreich français francia francés
lawful legal legitimate rechtmäßig gesetzlich légal licite lícito legale
illegal unlawful illicit rechtswidrig illégal ilegal illegale
optional voluntary freiwillig facultatif opcional facoltativo
important significant crucial vital wichtig important importante
about approximately roughly around ungefähr etwa circa environ aproximadamente
quick-start setup install installation einrichten installieren installer instalar installare
train-course training course class schulung kurs formation cours curso formación corso
attack assault strike angriff angreifen attaque attaquer ataque atacar attacco
try attempt versuchen essayer intentar tentare
stop halt cease anhalten stoppen arrêter cesser detener parar fermare
happen occur occurred occurrence geschehen passieren arriver ocurrir suceder
cause reason lead led result trigger ursache grund cause raison causa razón motivo
kind type sort art typ type tipo
part portion component teil partie parte
area region zone gebiet bereich région zona región
amount quantity betrag menge anzahl montant quantité nombre cantidad número monto importo quantità numero
apply applies relevant gelten anwendbar appliquer applicable aplicar applicare
plan scheme proposal proposed planned geplant vorhaben projet propuesta piano
beautiful pretty lovely attractive
begin-work hire hired recruit einstellen embaucher contratar assumere
dismiss fired sack sacked layoff entlassen licencier despedir licenziare
resign quit stepdown zurücktreten démissionner dimitir dimettersi
attorney lawyer solicitor counsel anwalt rechtsanwalt avocat abogado avvocato
police cop cops officer polizei police policía polizia
arrest arrested detain detained custody festnehmen verhaftet arrêter detener arrestare
injure injured wound wounded hurt verletzt verletzen blessé blesser herido herir ferito
weather climate wetter météo clima tiempo
rain regen pluie lluvia pioggia
snow schnee neige nieve neve
fire blaze flames feuer brand feu incendie fuego incendio fuoco
storage warehouse lager entrepôt almacén magazzino
invoice bill rechnung facture factura fattura
discount rebate rabatt ermäßigung nachlass remise rabais réduction descuento sconto
voucher coupon gutschein bon cupón vale buono
meal food essen mahlzeit repas nourriture comida pasto cibo
breakfast frühstück petit-déjeuner desayuno colazione
lunch mittagessen déjeuner almuerzo pranzo
dinner supper abendessen dîner cena
vacation holiday holidays urlaub ferien vacances vacaciones vacanza
leave-days leave
kitchen küche cuisine cocina cucina
vote election elect elected wahl wählen gewählt vote voter élection elegir elección votar votare elezione
third-party drittanbieter dritter dritte tiers tercero terzi
transfer transferred übertragen übertragung transférer transfert transferir transferencia trasferire
licence license lizenz licence licencia licenza
supplier vendor provider lieferant anbieter fournisseur proveedor fornitore
publish published publication release released launch launched veröffentlichen veröffentlicht publier publié sortie
  publicar publicado pubblicare
teach taught instruct lehren unterrichten enseigner enseñar insegnare
learn learned learnt lernen apprendre aprender imparare
think believe thought belief glauben denken penser croire pensar creer credere
see saw seen watch watched view sehen voir ver vedere
speak spoke spoken talk sprechen parler hablar parlare
know knew known wissen savoir saber sapere
name called named title titled entitled heißen genannt appeler appelé nommé llamar llamado chiamato
locate located location situated place site ort lage befindet liegt situé lieu emplacement ubicado lugar ubicación
  situato luogo
produce manufacture made make production herstellen produzieren hergestellt produire fabriquer production producir
  fabricar producción produrre
reach-out contact kontakt kontaktieren contacter contact contactar contacto contattare
"""

# Concepts that exclude one another when said of the same thing.
OPPOSITES = """
open close
allow prohibit
store remove
store lose
increase decrease
buy sell
accept reject
exclude add
exclude cover
begin end
lawful illegal
must optional
safe danger
win lose
improve worsen
fail succeed
minimum maximum
large small
expensive cheap
arrive leave
morning evening
hot cold
before after
above below
true false
upper lower
inside outside
internal external
public private
import export
male female
man woman
married unmarried
add remove
fixed variable
permanent temporary
hire dismiss
hire resign
receive send
landlord tenant
employer employee
lend borrow
father mother
brother sister
son daughter
alive die
born die
guilty innocent
same different
guilty acquit
confirm deny
present absent
full empty
early late
positive negative
odd even
more less
more fewer
better worse
old new
old young
fast slow
long short
high low
heavy light
rich poor
strong weak
active inactive
enable disable
encrypt decrypt
connect disconnect
approve reject
upgrade downgrade
profit loss
majority minority
automatic manual
indoor outdoor
liquid solid
ascend descend
credit debit
install uninstall
victory defeat
wet dry
clean dirty
"""

# Of each set only one member can be meant; two different ones at the same place are a mismatch.
EXCLUSIVE = """
monday tuesday wednesday thursday friday saturday sunday
red blue green yellow black white orange purple pink brown grey
north south east west
summer winter spring autumn
english french german spanish italian portuguese dutch russian chinese japanese arabic
cat dog horse cow sheep pig chicken
gold silver bronze copper aluminium steel iron
breakfast lunch dinner
father mother brother sister son daughter wife uncle aunt cousin grandfather grandmother nephew niece
doctor nurse dentist surgeon
diesel petrol electric hybrid
"""

# Words without content of their own, in the languages most answers are written in.
FUNCTION_WORDS = """
a an the this that these those there here it its it's he she they them his her hers their theirs him we us our ours
you your yours i me my mine one's who whom whose which what where when why how is are was were be been being am
isn't aren't wasn't weren't do does did done doing don't doesn't didn't have has had having haven't hasn't hadn't
will would shall should can could may might must cannot can't won't wouldn't shouldn't couldn't and or but nor so
yet if then else than as at by for from in into of off on onto out over to toward towards under until up upon with
within without about above across after against along among around because before behind below between beyond during
except through throughout since while whereas although though unless whether also too very just only even still such
each every any all some most more many much few less least several both either neither no not never none other
others another same own again further therefore thus hence however moreover furthermore additionally consequently
i'm you're we're they're he's she's that's there's let's per via etc ie eg s t re ve ll d m himself herself itself
themselves myself yourself ourselves der die das den dem des ein eine einer eines einem einen und oder aber nicht
kein keine keiner keinen ist sind war waren wird werden wurde wurden sein hat haben hatte mit von vom zu zum zur im
in am an auf aus bei beim bis durch für gegen nach ohne um unter über vor zwischen als wie wenn dass daß ob weil da
so auch nur noch schon sehr mehr es er sie wir ihr ich sich man kann können darf dürfen soll sollen dieser diese
dieses jeder jede jedes alle ihre seine le la les un une des du de et ou mais ne pas est sont était été être avoir a
ont avec par pour sur sous dans en au aux ce cet cette ces il elle ils elles nous vous je tu se son sa ses leur
leurs qui que quoi dont où si comme plus moins très y d l n'est qu c'est l' d' peut peuvent el los las una unos unas
y o pero no es son era fue ser estar está están ha han con por para sobre en al del lo se su sus este esta estos
estas ese esa que quien cual cuando donde como más menos muy puede pueden il lo gli i uno ma non è sono era con per
su tra fra nel nella dei delle degli al alla che chi come più meno può o os um uma e mas não é são foi com por para
em no na nos nas do da dos das ao se seu sua que como mais pode de het een en of maar niet is zijn was met van voor
op aan bij uit om te naar door als dat die dit er kan
من على في الى عن ان هذا هذه ذلك تلك التي الذي هو هي و او ثم مع كل لا ما لم لن قد كان كانت يكون تكون بين عند بعد قبل
حتى اذا كما لكن ايضا اي له لها لهم به بها فيه فيها عليه عليها
है हैं था थी थे हो होता होती होते के की का को में से पर ने और या यह वह ये वे इस उस एक भी ही तो कि जो लिए साथ तक नहीं न अपने
"""

# Words that shape a sentence and say little: they count for less when the evidence lacks them.
LIGHT_WORDS = """
yesterday tomorrow thing things item way ways fact facts case cases kind type sort example lot number amount total
part various different certain particular general specific specifically generally usually typically often overall
following follow include including included make made making take took taken taking get got getting give gave given
giving go goes went going gone come came coming put set let keep kept use used using become became provide provided
providing need needed want wanted like well able back new old long own due based according accordance addition
additionally context document documents passage text information mention mentioned state stated say said says tell
told note noted describe described refer known call called consider considered regard regarding related associated
relation relate several multiple main key important significant significantly day days today time times date period
year years month months week weeks people person someone anyone everyone something anything everything nothing first
second last next previous former latter current currently now then once also actually really simply basically
essentially really quite rather somewhat mostly mainly primarily particularly especially furthermore instead
otherwise meanwhile eventually finally subsequently initially originally place within whole entire entirely complete
completely full fully high low good great large small big help helps ensure allow allows involve involves involved
contain contains consist consists have having seem appear appears occur occurs happen happens result results lead
leads cause causes form forms act acts serve serves purpose reason reasons aspect aspects process term terms level
range order point side area way able pay count account yes apply applies located permitted permit entitled bring
brought carry please answer question cost costs price far enter costing
"""

# Two words that mean one concept together: the key of the first becomes that of the word after the sign.
PHRASES = """
send back=return
give back=return
bring back=return
take back=return
money back=refund
pay back=refund
shut down=close
set up=setup
carry out=perform
find out=discover
point out=mention
give up=abandon
hand over=deliver
put off=postpone
call off=cancel
take place=happen
sign up=register
log in=login
go up=increase
go down=decrease
free charge=free
one time=once
one off=once
"""

# Past forms that a stemmer doesn't reach.
IRREGULAR = """
was=be were=be been=be bought=buy sold=sell began=begin begun=begin built=build came=come chose=choose chosen=choose
cut=cut did=do done=do drew=draw drawn=draw drove=drive driven=drive ate=eat eaten=eat fell=fall fallen=fall
felt=feel fought=fight found=find flew=fly flown=fly forgot=forget forgotten=forget gave=give given=give went=go
gone=go grew=grow grown=grow heard=hear held=hold kept=keep knew=know known=know led=lead left=leave lent=lend
lost=lose made=make met=meet paid=pay ran=run rose=rise risen=rise said=say saw=see seen=see sent=send shot=shoot
shown=show sang=sing sung=sing sat=sit slept=sleep spoke=speak spoken=speak spent=spend stood=stand stole=steal
stolen=steal swam=swim took=take taken=take taught=teach told=tell thought=think threw=throw thrown=throw
understood=understand woke=wake wore=wear worn=wear won=win wrote=write written=write became=become brought=bring
caught=catch dealt=deal hid=hide hidden=hide shook=shake broke=break broken=break froze=freeze frozen=freeze lay=lie
laid=lay bore=bear sought=seek struck=strike swore=swear tore=tear torn=tear wound=wound bound=bind bred=breed
fed=feed fled=flee hung=hang rang=ring shrank=shrink sank=sink men=man women=woman children=child feet=foot
teeth=tooth mice=mouse people=people lives=life wives=wife leaves=leaf criteria=criterion phenomena=phenomenon
data=data analyses=analysis crises=crisis better=better worse=worse
"""


def word_set(table: str) -> frozenset[str]:
    """Return the words of a table written as running text."""
    return frozenset(table.split())


def joined_lines(table: str) -> list[str]:
    """Return the lines of a table, each with the indented lines that go on with it."""
    return table.strip().replace("\n  ", " ").splitlines()


def read_concepts() -> list[list[str]]:
    """Return the synonym groups, the name of the concept first."""
    return [line.split() for line in joined_lines(CONCEPTS)]


def read_phrases() -> list[tuple[str, str, str]]:
    """Return the table of phrases as first word, second word, meaning."""
    entries = (line.partition("=") for line in PHRASES.strip().splitlines())
    return [(*words.split(), meaning) for words, _, meaning in entries]  # type: ignore[misc]


def read_pairs(table: str) -> list[tuple[str, str]]:
    """Return the two words of each line of a table of pairs."""
    return [(left, right) for left, right in (line.split() for line in table.strip().splitlines())]


def read_mapping(table: str) -> dict[str, str]:
    """Return a table of `form=word` entries."""
    return dict(entry.split("=", 1) for entry in table.split())
